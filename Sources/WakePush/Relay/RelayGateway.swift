private import Synchronization
package import WakeFetch
package import WakeModel
package import WakeSystem

/// A gateway to one push service through the Reveille of the app's owner.
package struct RelayGateway: Gateway {
    package let service: PushService
    package let perMinute: Int?
    private let client: RelayClient
    private let clock: TimeSource

    /// - Throws: `libraryMissing` when libcurl cannot be loaded.
    package init(
        _ service: PushService, _ configuration: RelayConfiguration, key: RelayKey,
        clock: TimeSource = .system
    ) throws(FetchError) {
        precondition(RelayBatch.services.contains(service), "no relay wakes these")
        self.service = service
        self.clock = clock
        perMinute = configuration.perMinute
        client = try RelayClient(configuration, key, clock)
    }

    /// The most requests under way.
    package static let requestsAtOnce = RelayBackoff.requests

    /// Twice what is under way, so that the next request is full.
    package var window: Int { 2 * RelayBackoff.requests * RelayBatch.maximumWakes }

    package func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewaySession {
        DeliverySession(
            RelayDeliveryState(service), RelayTransport(client, lifetime: lifetime), time: clock,
            report: report)
    }
}

final class RelayTransport: DeliveryTransport {
    typealias State = RelayDeliveryState

    private struct Locked {
        var requests: [UInt32: Task<Void, Never>] = [:]
        var isCancelled = false
    }

    private let client: RelayClient
    /// Seconds.
    private let lifetime: Int
    private let locked = Mutex(Locked())

    init(_ client: RelayClient, lifetime: Int) {
        self.client = client
        let limits = RelayBatch.lifetimes
        self.lifetime = min(max(lifetime, limits.lowerBound), limits.upperBound)
    }

    func perform(_ action: State.Action, for session: DeliverySession<RelayTransport>) {
        let (number, entries) = action
        let batch = RelayBatch(lifetime: lifetime, tokens: entries.map(\.wakeUp.token))
        locked.withLock { locked in
            guard !locked.isCancelled else { return }
            // The task does not keep the session alive: its owner waits for reports.
            locked.requests[number] = Task { [weak self, weak session, client] in
                let result = await client.send(batch) { [weak session] bytes in
                    session?.receive(.lines(number, bytes.array)) == true ? .proceed : .stop
                }
                self?.forget(number)
                session?.receive(.ended(number, result))
            }
        }
    }

    private func forget(_ number: UInt32) { locked.withLock { $0.requests[number] = nil } }

    func cancel() {
        let requests = locked.withLock { locked in
            defer { locked = Locked(isCancelled: true) }
            return locked.requests
        }
        for request in requests.values { request.cancel() }
    }
}
