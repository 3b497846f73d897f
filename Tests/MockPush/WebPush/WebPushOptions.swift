import WakeSystem

/// The flags of the mock of Web Push.
struct WebPushOptions: ServiceOptions {
    enum Body: String {
        case empty, byte, any
    }

    /// Some of the hosts.
    enum Hosts: Equatable {
        /// The first so many that are asked for.
        case first(Int)
        case named(Set<String>)

        init?(_ text: String) {
            if let count = Int(text) {
                guard count >= 0 else { return nil }
                self = .first(count)
            } else {
                self = .named(Set(text.lowercased().split(separator: ",").map(String.init)))
            }
        }
    }

    var common = CommonOptions()

    // What a request must have; nil is not checked.
    var publicKey: String?
    var subject: String?
    var isVAPIDOptional = false
    var body = Body.any
    var urgency: String?
    var topic: String?
    var lifetime: Int?

    var accepts = 201
    var redirectTo: String?
    var throttle: (every: Int, seconds: Int)?
    var oversizedEvery = 0
    var endlessEvery = 0
    var hangingHosts = Hosts.first(0)
    var hangsInHandshake = false
    var slowHosts = Hosts.first(0)
    var slowness = 1000

    var isWhole: Bool {
        guard (common.certificate == nil) == (common.key == nil) else { return false }
        // In a handshake the number of hosts is not known yet.
        if hangsInHandshake, case .first = hangingHosts { return false }
        return true
    }

    static let about = """
        A Web Push service (RFC 8030, VAPID of RFC 8292): every path is an endpoint, by HTTP/2 or
        HTTP/1.1, and every name a host, counted on its own. An ANSWER is STATUS[::RETRY-AFTER], as
        in 410, 429::30 or 302 (to --redirect-to, or to a place here that must not be fetched).
        What --answer-to looks at is the endpoint, as in https://h03.example/=503. A LIST is names
        with commas between, or the number of hosts from the first that is seen. Example:

          mock-push --service webpush --certificate chain.pem --key key.pem --hang-hosts 10

        """

    static var flags: [Flag<WebPushOptions>] { checks + faults + hosts }

    private static var checks: [Flag<WebPushOptions>] {
        [
            .text("--public-key", "KEY", "k= of VAPID, base64url", \.publicKey),
            .text("--subject", "TEXT", "sub of VAPID", \.subject),
            .yes("--vapid-optional", "requests without VAPID pass", \.isVAPIDOptional),
            Flag(
                name: "--body", takes: "WORD",
                does: "empty, byte (one of them), or any that a push service takes"
            ) { options, value in
                guard let body = Body(rawValue: value) else { return false }
                options.body = body
                return true
            },
            .text("--urgency", "WORD", "Urgency, exactly", \.urgency),
            .text("--topic", "TEXT", "Topic, exactly; it may never change anyway", \.topic),
            Flag(name: "--lifetime", takes: "S", does: "TTL, exactly") { options, value in
                options.lifetime = Int(value)
                return options.lifetime != nil
            },
        ]
    }

    private static var faults: [Flag<WebPushOptions>] {
        [
            Flag(name: "--accept", takes: "STATUS", does: "201 (as is), 200, 202 or 204") {
                guard let status = Int($1), (200...299).contains(status) else { return false }
                $0.accepts = status
                return true
            },
            .text("--redirect-to", "URL", "Location of answers 3xx", \.redirectTo),
            Flag(
                name: "--throttle", takes: "N:S",
                does: "429 with Retry-After S to the first request of every Nth endpoint"
            ) { options, value in
                let parts = value.split(separator: ":").map { Int($0) }
                guard parts.count == 2, let every = parts[0], let seconds = parts[1], every > 0,
                    (0...86_400).contains(seconds)
                else { return false }
                options.throttle = (every, seconds)
                return true
            },
            .number(
                "--oversized-every", "N", "accepted, with a body of 4 MiB", \.oversizedEvery),
            .number(
                "--endless-every", "N", "accepted, with a body that never ends", \.endlessEvery),
        ]
    }

    private static var hosts: [Flag<WebPushOptions>] {
        [
            Flag(name: "--hang-hosts", takes: "LIST", does: "they never answer") {
                guard let hosts = Hosts($1) else { return false }
                $0.hangingHosts = hosts
                return true
            },
            .yes(
                "--hang-in-handshake", "nor do they finish TLS, by the name it tells",
                \.hangsInHandshake),
            Flag(name: "--slow-hosts", takes: "LIST", does: "they take --slowness MS (1000)") {
                guard let hosts = Hosts($1) else { return false }
                $0.slowHosts = hosts
                return true
            },
            .number("--slowness", "MS", "see there", \.slowness),
        ]
    }
}
