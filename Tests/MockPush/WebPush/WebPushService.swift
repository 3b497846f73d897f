import WakeSystem

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
        guard case .named(let names) = options.hangingHosts, names.contains(name) else {
            return false
        }
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
            return .answer(HTTPAnswer(404), lease)
        }
        if let value = request.field("authorization") { host.credentials.insert(value) }
        if let refusal = check.refusal(of: request, now: clock.seconds) {
            refuse(refusal.word)
            let text = "{\"code\":\(refusal.status),\"error\":\"\(refusal.word)\"}"
            return .answer(.json(refusal.status, text), lease)
        }
        return settle(request, host, lease)
    }

    private func host(_ name: String) -> PushHost {
        if let known = hosts[name] { return known }
        let host = PushHost(number: hosts.count + 1)
        hosts[name] = host
        return host
    }

    private func isOne(_ hosts: WebPushOptions.Hosts, _ host: PushHost, _ name: String) -> Bool {
        switch hosts {
        case .first(let count): host.number <= count
        case .named(let names): names.contains(name)
        }
    }

    /// What comes of a request that is as it must be.
    private func settle(_ request: HTTPRequest, _ host: PushHost, _ lease: InFlightLease)
        -> Reaction
    {
        let endpoint = Array((request.origin + request.path).utf8)
        counters.proper += 1
        host.endpoints.insert(endpoint)
        checkRetryAfter(endpoint)
        if isOne(options.hangingHosts, host, request.host) {
            counters.faults["hung", default: 0] += 1
            return .hang(lease)
        }
        if let fault = connectionFault(endpoint) { return fault }
        var answer = answer(request, endpoint, host)
        if isOne(options.slowHosts, host, request.host) { answer.delay += options.slowness }
        return .answer(answer, lease)
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
            scripted?.status ?? options.accepts,
            [("location", "\(request.origin)/message/\(counters.delivered)"), ("ttl", "0")])
        if isDue(options.oversizedEvery) {
            counters.faults["oversized", default: 0] += 1
            answer.parts = Self.blocks(64)
        }
        if isDue(options.endlessEvery) {
            counters.faults["endless", default: 0] += 1
            answer.parts = Self.blocks(1)
            answer.end = .endless
        }
        return answer
    }

    private static func blocks(_ count: Int) -> [HTTPAnswer.Part] {
        let block = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
        return Array(repeating: HTTPAnswer.Part(bytes: block), count: count)
    }

    private func answer(_ scripted: ScriptedAnswer, _ request: HTTPRequest) -> HTTPAnswer {
        var answer = HTTPAnswer(scripted.status)
        if let seconds = scripted.retryAfter {
            answer.fields.append(("retry-after", "\(seconds)"))
        }
        if (300...399).contains(scripted.status) {
            redirects += 1
            let address = options.redirectTo ?? "\(request.origin)\(Self.redirected)\(redirects)"
            answer.fields.append(("location", address))
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
