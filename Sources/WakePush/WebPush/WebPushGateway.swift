package import WakeFetch
package import WakeModel
import WakeSystem

/// Wakes Web Push and UnifiedPush endpoints, on any host.
package struct WebPushGateway: Gateway {
    private let sender: WebPushSender
    private let limits: WebPushLimits
    /// Whether heartbeats are for browsers, too.
    private let wakesBrowsers: Bool
    /// The key that apps subscribe with (`applicationServerKey`), base64url.
    package let publicKey: String

    /// Reads the key; sends nothing. `port` is connected to instead of 443 (in tests).
    package init(
        _ configuration: WebPushConfiguration, resolver: any HostResolver = SystemResolver(),
        limits: WebPushLimits = WebPushLimits(), port: UInt16 = 443,
        timeout: Duration = .seconds(10)
    ) throws(WebPushGatewayError) {
        let key = try mapError(WebPushGatewayError.key, try configuration.vapidKey())
        try mapError(WebPushGatewayError.authorities, try configuration.checkAuthorities())
        publicKey = key.publicText
        wakesBrowsers = configuration.heartbeat
        var limits = limits
        limits.perHost = configuration.perHost
        self.limits = limits
        do throws(FetchError) {
            sender = try WebPushSender(
                configuration, key, resolver, limits: limits, port: port, timeout: timeout)
        } catch {
            guard case .libraryMissing(let library) = error else { throw .library(nil) }
            throw .library(library)
        }
    }

    package var service: PushService { .webPush }
    /// Requests in flight to all hosts.
    package static var requestsAtOnce: Int { WebPushLimits().total }

    /// Full after 16 seconds when a tenth of 5,000 wake-ups a second hang; that shows after 10.
    package var window: Int { limits.window }

    package func refusal(of token: PushToken) -> EndpointRefusal? {
        sender.policy.refusal(of: token)
    }

    package func takesHeartbeats(_ token: PushToken) -> Bool {
        wakesBrowsers || PushHostKind(token)?.isBrowser != true
    }

    package func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewaySession {
        DeliverySession(
            WebPushDelivery(sender.policy, limits),
            WebPushTransport(sender, lifetime: lifetime), report: report)
    }
}

/// The reason why there is no Web Push gateway.
package enum WebPushGatewayError: Error, Equatable, Sendable {
    case key(VAPIDKeyError)
    /// libcurl; nil when it is there but cannot be used.
    case library(MissingLibrary?)
    case authorities(PushEngineError)

    /// A library is missing or unfit: the service can do without this gateway.
    package var isLibraryMissing: Bool {
        switch self {
        case .key(let error): error.isLibraryMissing
        case .library: true
        case .authorities: false
        }
    }

    package var message: String {
        switch self {
        case .key(let error): error.message
        case .library(let library?): "webpush: \(library.description)"
        case .library(nil):
            "webpush: libcurl.so.4 cannot be used\n"
                + "hint: reinstall the package libcurl4: apt-get install --reinstall libcurl4"
        case .authorities(let error): "[webpush] ca: " + error.message
        }
    }
}
