import WakeSystem

/// The flags of the mock of Web Push; what is nil is not checked.
struct WebPushOptions: ServiceOptions {
    enum Body: String {
        case empty, byte, any
    }

    var common = CommonOptions()
    var publicKey: String?
    var subject: String?
    var body = Body.any
    var urgency: String?
    var topic: String?
    var lifetime = -1

    var throttle: (every: Int, seconds: Int)?
    var oversizedEvery = 0
    var endlessEvery = 0
    var hangingHosts: Set<String> = []
    var hangsInHandshake = false

    static let about = """
        usage: mock-push --service webpush [FLAG VALUE]…

        A Web Push service (RFC 8030, VAPID of RFC 8292): every path is an endpoint, by HTTP/2 or
        HTTP/1.1, and every name a host, counted on its own. An ANSWER is STATUS[::RETRY-AFTER]; 302
        leads to a place here that must not be fetched. What --answer-to looks at is the endpoint,
        as in https://h03.example/=503. Example:

          mock-push --service webpush --certificate chain.pem --key key.pem --hang-hosts h.example

        """

    static var flags: [Flag<WebPushOptions>] {
        [
            .text("--public-key", "KEY", "k= of VAPID, base64url", \.publicKey),
            .text("--subject", "TEXT", "sub of VAPID", \.subject),
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
            .number("--lifetime", "S", "TTL, exactly", \.lifetime),
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
            Flag(name: "--hang-hosts", takes: "NAME,…", does: "they never answer") {
                $0.hangingHosts = Set($1.lowercased().split(separator: ",").map(String.init))
                return true
            },
            .yes(
                "--hang-in-handshake", "nor do they finish TLS, by the name it tells",
                \.hangsInHandshake),
        ]
    }
}
