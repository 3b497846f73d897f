private import Synchronization
import WakeFetch
import WakeModel
import WakeSystem

/// The requests and look-ups of one session.
final class WebPushTransport: DeliveryTransport {
    typealias State = WebPushDelivery

    private struct Locked {
        /// Nil while a request is being started.
        var requests: [WebPushFlight.Key: FetchHandle?] = [:]
        var lookUps: [Int: Task<Void, Never>] = [:]
        var isCancelled = false
    }

    private let sender: WebPushSender
    /// Seconds.
    private let lifetime: Int
    private let locked = Mutex(Locked())

    init(_ sender: WebPushSender, lifetime: Int) {
        self.sender = sender
        self.lifetime = lifetime
    }

    func perform(_ action: WebPushDelivery.Action, for session: DeliverySession<WebPushTransport>) {
        switch action {
        case .send(let flight): send(flight, session)
        case .resolve(let host, let name): resolve(host, name, session)
        }
    }

    private func send(_ flight: WebPushFlight, _ session: DeliverySession<WebPushTransport>) {
        let key = flight.key
        let request: FetchRequest
        do throws(FetchError) {
            request = try sender.request(flight, lifetime: lifetime)
        } catch {
            session.receive(.ended(key, .failed(error)))
            return
        }
        locked.withLock { _ = $0.requests.updateValue(nil, forKey: key) }
        // Weak: a session that nothing holds any more ends its requests.
        let handle = sender.fetcher.start(request) { [weak self, weak session] result in
            self?.locked.withLock { _ = $0.requests.removeValue(forKey: key) }
            session?.receive(.ended(key, WebPushOutcome(result)))
        }
        let isLate = locked.withLock { locked -> Bool in
            if locked.requests.keys.contains(key) { locked.requests[key] = handle }
            return locked.isCancelled
        }
        if isLate { handle.cancel() }
    }

    private func resolve(
        _ host: Int, _ name: [UInt8], _ session: DeliverySession<WebPushTransport>
    ) {
        let resolver = sender.resolver
        let task = Task { [weak session] in
            let result: Result<[IPAddress], ResolveError>
            do throws(ResolveError) {
                result = .success(try await resolver.addresses(of: name))
            } catch { result = .failure(error) }
            session?.receive(.resolved(host: host, result))
        }
        locked.withLock { locked in
            if locked.isCancelled { task.cancel() } else { locked.lookUps[host] = task }
        }
    }

    func cancel() {
        let (requests, lookUps) = locked.withLock { locked in
            defer { locked = Locked(isCancelled: true) }
            return (locked.requests, locked.lookUps)
        }
        for request in requests.values { request?.cancel() }
        for task in lookUps.values { task.cancel() }
    }
}

extension WebPushOutcome {
    fileprivate init(_ result: Result<(FetchResponse, [UInt8]), FetchError>) {
        switch result {
        case .success(let (response, _)):
            self = .answered(status: response.status, retryAfter: response.retryAfter)
        case .failure(let error): self = .failed(error)
        }
    }
}

/// The shared part of the gateway's sessions: connections, name resolution, and tokens.
final class WebPushSender: Sendable {
    let fetcher: Fetcher
    let resolver: any HostResolver
    let policy: EndpointPolicy
    private let body: WebPushConfiguration.Body
    private let port: UInt16
    private let timeout: Duration
    private let tokens: Mutex<VAPIDTokenProvider>

    /// Throws `libraryMissing`.
    init(
        _ configuration: WebPushConfiguration, _ key: VAPIDKey, _ resolver: any HostResolver,
        limits: WebPushLimits, port: UInt16, timeout: Duration
    ) throws(FetchError) {
        fetcher = try Fetcher(
            FetchConfiguration(
                caFile: configuration.authorityFile, maximumConnections: limits.total,
                connectionsPerHost: limits.perHost, idleConnections: limits.total))
        self.resolver = resolver
        policy = configuration.policy
        body = configuration.body
        self.port = configuration.connect?.port ?? port
        self.timeout = timeout
        tokens = Mutex(VAPIDTokenProvider(key, subject: configuration.subject))
    }

    /// - Throws: `invalidURL` when the endpoint may not be sent to, or `outOfResources`.
    func request(_ flight: WebPushFlight, lifetime: Int) throws(FetchError) -> FetchRequest {
        let origin = VAPIDTokenProvider.origin(host: flight.host)
        let authorization = tokens.withLock { $0.authorization(origin, at: .system()) }
        guard let authorization else { throw .outOfResources }
        return try WebPushRequest(lifetime: lifetime, body: body, port: port, timeout: timeout)
            .fetch(
                flight.token, host: flight.host, authorization: authorization,
                addresses: flight.addresses)
    }
}
