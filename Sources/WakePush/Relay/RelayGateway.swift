package import WakeFetch
package import WakeModel

/// Wakes the push tokens of one push service through the Reveille of the app's owner, who alone
/// holds the credentials for them.
package struct RelayGateway: Gateway {
    package let service: PushService
    package let perMinute: Int?
    private let link: RelayLink
    private let clock: EngineClock

    /// - Parameter service: one of `RelayBatch.services`.
    /// - Throws: `libraryMissing` when libcurl cannot be loaded.
    package init(
        _ service: PushService, _ configuration: RelayConfiguration, key: RelayKey,
        clock: EngineClock = .system
    ) throws(FetchError) {
        precondition(RelayBatch.services.contains(service), "no relay wakes these")
        self.service = service
        self.clock = clock
        perMinute = configuration.perMinute
        link = try RelayLink(configuration, key, clock)
    }

    /// Requests under way at most.
    package static let requestsAtOnce = RelayPatience.requests

    package var connections: Int { Self.requestsAtOnce }

    /// As many again as are under way, so that the next request is full.
    package var window: Int { 2 * RelayPatience.requests * RelayBatch.maximumWakes }

    package func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewayRound {
        RelayRound(service, link, lifetime: lifetime, clock: clock, report: report)
    }
}
