private import Synchronization
import WakeFetch
import WakeModel

/// What the rounds of the Web Push gateway share: connections, names, and tokens.
final class WebPushSender: Sendable {
    let fetcher: Fetcher
    let resolver: any HostResolver
    let policy: EndpointPolicy
    let body: WebPushConfiguration.Body
    /// That is connected to.
    let port: UInt16
    let timeout: Duration
    private let tokens: Mutex<VAPIDTokens>

    /// - Throws: `libraryMissing`.
    init(
        _ configuration: WebPushConfiguration, _ key: VAPIDKey, _ resolver: any HostResolver,
        bounds: WebPushFlow.Bounds, port: UInt16, timeout: Duration
    ) throws(FetchError) {
        fetcher = try Fetcher(
            FetchConfiguration(
                caFile: configuration.authorityFile, maximumConnections: bounds.total,
                connectionsPerHost: bounds.perHost, idleConnections: bounds.total))
        self.resolver = resolver
        policy = configuration.policy
        body = configuration.body
        self.port = configuration.connect?.port ?? port
        self.timeout = timeout
        tokens = Mutex(VAPIDTokens(key, subject: configuration.subject))
    }

    /// - Returns: nil when the endpoint may not be sent to, or libcrypto is out of memory.
    func request(_ flight: WebPushFlow.Flight, lifetime: Int) -> FetchRequest? {
        let origin = VAPIDToken.origin(host: flight.host)
        let authorization = tokens.withLock { $0.authorization(origin, at: .system()) }
        guard let authorization else { return nil }
        return WebPushRequest(lifetime: lifetime, body: body, port: port, timeout: timeout)
            .fetch(
                flight.wakeUp.token, host: flight.host, authorization: authorization,
                addresses: flight.addresses)
    }
}
