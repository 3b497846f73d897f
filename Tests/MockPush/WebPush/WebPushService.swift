import WakeSystem

/// What one host has seen.
private final class PushHost {
    let inFlight = InFlightCounter()
    var requests = 0
    var delivered = 0
    var duplicates = 0
    /// Connections that fell silent in the handshake.
    var silenced = 0
    var endpoints: Set<[UInt8]> = []
    var connections: Set<Int> = []
    /// Distinct values of `authorization`.
    var credentials: Set<String> = []

    var json: String {
        let members = [
            ("requests", requests), ("delivered", delivered), ("duplicates", duplicates),
            ("endpoints", endpoints.count), ("connections", connections.count),
            ("credentials", credentials.count), ("mostAtOnce", inFlight.most),
            ("silenced", silenced),
        ]
        return Counters.object(members.map { ($0.0, "\($0.1)") })
    }
}

/// Many push services in one: each name that is asked for is a host of its own.
final class WebPushService: HTTPService {
    private let options: WebPushOptions
    private var check: WebPushCheck
    private var hosts: [String: PushHost] = [:]
    /// Endpoints in the order of their first proper request.
    private var pushEndpoints: [[UInt8]: Int] = [:]
    private var redirects = 0
    private var redirectsFollowed = 0

    private static let redirected = "/redirected/"

    init(_ options: WebPushOptions) {
        self.options = options
        check = WebPushCheck(options)
        super.init(options.common)
    }

    override var endpoints: [Endpoint] {
        super.endpoints.map { endpoint in
            var endpoint = endpoint
            endpoint.readsHello = options.hangsInHandshake
            return endpoint
        }
    }

    override func isSilent(name: String) -> Bool {
        guard options.hangingHosts.contains(name) else { return false }
        host(name).silenced += 1
        return true
    }

    override func judge(_ request: HTTPRequest) -> Reaction {
        let host = host(request.host)
        host.requests += 1
        host.connections.insert(request.connection)
        let lease = InFlightLease(host.inFlight)
        if request.path.hasPrefix(Self.redirected) {
            redirectsFollowed += 1
            return .answer(HTTPAnswer(404))
        }
        if let value = request.field("authorization") { host.credentials.insert(value) }
        if let refusal = check.refusal(of: request, now: clock.seconds) {
            let text = "{\"code\":\(refusal.status),\"error\":\"\(refusal.word)\"}"
            return refuse(refusal.word, .json(refusal.status, text))
        }
        let endpoint = Array((request.origin + request.path).utf8)
        counters.proper += 1
        host.endpoints.insert(endpoint)
        checkRetryAfter(endpoint)
        if options.hangingHosts.contains(request.host) {
            counters.faults["hung", default: 0] += 1
            return .hang(lease)
        }
        if let fault = connectionFault(endpoint) { return fault }
        var answer = answer(request, endpoint, host)
        answer.lease = lease
        return .answer(answer)
    }

    private func host(_ name: String) -> PushHost {
        if let known = hosts[name] { return known }
        let host = PushHost()
        hosts[name] = host
        return host
    }

    private func answer(
        _ request: HTTPRequest, _ endpoint: [UInt8], _ host: PushHost
    ) -> HTTPAnswer {
        if let seconds = throttled(endpoint) {
            recordRetryAfter(endpoint, seconds: seconds)
            return HTTPAnswer(429, [("retry-after", "\(seconds)")])
        }
        let scripted = scriptedAnswer(for: endpoint)
        if let scripted, !(200...299).contains(scripted.status) {
            recordRetryAfter(endpoint, seconds: scripted.retryAfter)
            return self.answer(scripted, request)
        }
        let before = counters.duplicates
        counters.deliver(endpoint)
        host.delivered += 1
        host.duplicates += counters.duplicates - before
        var answer = HTTPAnswer(
            scripted?.status ?? 201,
            [("location", "\(request.origin)/message/\(counters.delivered)"), ("ttl", "0")])
        if isDue(options.oversizedEvery) {
            counters.faults["oversized", default: 0] += 1
            answer.body = [UInt8](repeating: UInt8(ascii: "x"), count: 4 << 20)
        }
        if isDue(options.endlessEvery) {
            counters.faults["endless", default: 0] += 1
            answer.body = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
            answer.isEndless = true
        }
        return answer
    }

    private func answer(_ scripted: ScriptedAnswer, _ request: HTTPRequest) -> HTTPAnswer {
        var answer = HTTPAnswer(scripted.status)
        if let seconds = scripted.retryAfter {
            answer.fields.append(("retry-after", "\(seconds)"))
        }
        if (300...399).contains(scripted.status) {
            redirects += 1
            answer.fields.append(("location", "\(request.origin)\(Self.redirected)\(redirects)"))
        }
        return answer
    }

    /// Seconds to wait, at the first proper request of every so many endpoints.
    private func throttled(_ endpoint: [UInt8]) -> Int? {
        guard let throttle = options.throttle, pushEndpoints[endpoint] == nil else { return nil }
        pushEndpoints[endpoint] = pushEndpoints.count + 1
        guard pushEndpoints.count.isMultiple(of: throttle.every) else { return nil }
        counters.faults["429", default: 0] += 1
        return throttle.seconds
    }

    override func members() -> [(name: String, json: String)] {
        [
            ("redirects", "\(redirects)"), ("redirectsFollowed", "\(redirectsFollowed)"),
            ("hosts", Counters.object(hosts.map { ($0.key, $0.value.json) })),
        ]
    }
}
