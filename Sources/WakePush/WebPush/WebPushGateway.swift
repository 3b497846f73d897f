package import WakeFetch
package import WakeModel

/// Wakes Web Push and UnifiedPush endpoints, on whatever hosts they are.
package struct WebPushGateway: Gateway {
    private let sender: WebPushSender
    private let bounds: WebPushFlow.Bounds
    /// What apps subscribe with (`applicationServerKey`), base64url.
    package let publicKey: String

    /// Reads the key; sends nothing.
    package init(
        _ configuration: WebPushConfiguration, resolver: any HostResolver = SystemResolver()
    ) throws(WebPushGatewayError) {
        try self.init(configuration, resolver: resolver, bounds: WebPushFlow.Bounds())
    }

    /// - Parameters:
    ///   - port: that is connected to, whatever the endpoint says: tests have no 443.
    ///   - timeout: of one request.
    init(
        _ configuration: WebPushConfiguration, resolver: any HostResolver,
        bounds: WebPushFlow.Bounds, port: UInt16 = 443, timeout: Duration = .seconds(10)
    ) throws(WebPushGatewayError) {
        let key: VAPIDKey
        do throws(VAPIDKeyError) {
            key = try configuration.vapidKey()
        } catch {
            throw .key(error)
        }
        do throws(PushEngineError) {
            try configuration.checkAuthorities()
        } catch {
            throw .authorities(error)
        }
        publicKey = key.publicText
        var bounds = bounds
        bounds.perHost = configuration.perHost
        self.bounds = bounds
        do throws(FetchError) {
            sender = try WebPushSender(
                configuration, key, resolver, bounds: bounds, port: port, timeout: timeout)
        } catch {
            guard case .libraryMissing(let library) = error else { throw .library(nil) }
            throw .library(library)
        }
    }

    package var service: PushService { .webPush }

    /// To all push services together; where HTTP/2 carries several, still so many at once.
    package var connections: Int { bounds.total }

    package var streams: Int { 1 }

    /// Requests at once of any configuration: for plans on paper.
    package static var requestsAtOnce: Int { WebPushFlow.Bounds().total }

    /// With 5,000 wake-ups a second, a tenth of them to hosts that hang, it takes 16 seconds to
    /// fill; after 10 those hosts are known, and may not take more than half of it.
    package var window: Int { bounds.window }

    package func admits(_ token: PushToken) -> Bool { sender.policy.host(of: token) != nil }

    package func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewayRound {
        WebPushRound(sender, bounds: bounds, lifetime: lifetime, report: report)
    }
}

/// Why there is no Web Push gateway.
package enum WebPushGatewayError: Error, Equatable, Sendable {
    case key(VAPIDKeyError)
    /// libcurl; nil when it is there but cannot be used.
    case library(MissingLibrary?)
    /// The file of `ca`.
    case authorities(PushEngineError)

    /// A library is missing or unfit: the service can do without this gateway.
    package var isLibraryMissing: Bool {
        switch self {
        case .key(let error): error.isLibraryMissing
        case .library: true
        case .authorities: false
        }
    }

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        switch self {
        case .key(let error): error.message
        case .library(let library?): "webpush: \(library.description)"
        case .library(nil):
            "webpush: libcurl.so.4 cannot be used\n"
                + "hint: reinstall the package libcurl4: apt-get install --reinstall libcurl4"
        case .authorities(let error): "[webpush] ca: " + error.words
        }
    }
}
