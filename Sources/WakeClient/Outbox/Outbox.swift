import WakeFeed
import WakeSystem

/// Delivery to the app's handler: at least once, in the order found, with a back-off per match.
final class Outbox {
    private let profile: ProfileState
    private let handler: any MatchHandler
    private let environment: ClientEnvironment
    /// Matches of an app's own source bear no number of a batch; see `AppSourceCycle`.
    private let hidesSequence: Bool

    private var isDelivering = false
    /// Delivered by this process, and not yet recorded in the state.
    private var deliveredUnrecorded: Set<MatchID> = []
    /// Delivered, and recorded only by `confirm`; nil when every delivery is recorded at once.
    private var unconfirmed: [MatchID]?

    init(
        _ profile: ProfileState, handler: any MatchHandler, hidesSequence: Bool,
        in environment: ClientEnvironment
    ) {
        self.profile = profile
        self.handler = handler
        self.hidesSequence = hidesSequence
        self.environment = environment
    }

    /// Signalled when there is something to deliver.
    var event: AsyncEvent { profile.outboxEvent }

    var count: Int { (try? profile.database.undeliveredCount()) ?? 0 }

    func deliverAndWait() async throws(ClientError) {
        try await deliver()
        let next = try profile.database.nextDelivery()
        await event.wait(for: environment.wait(until: next), in: environment)
    }

    /// Delivers what is due. One at a time; a second call returns at once.
    func deliver() async throws(ClientError) {
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while let next = try profile.database.nextWarning() {
            await handler.handle(next.warning)
            guard !Task.isCancelled else { return }
            try profile.database.dropWarning(next.id)
        }
        while let pending = try nextMatch() {
            let id = pending.match.id
            do {
                // Delivered before, and a full disk had no room to record it: once is enough.
                if !deliveredUnrecorded.contains(id) {
                    try await handler.handle(pending.match)
                    deliveredUnrecorded.insert(id)
                }
            } catch {
                // A handler that was interrupted did not fail.
                guard !Task.isCancelled else { return }
                try postpone(pending)
                continue
            }
            if unconfirmed == nil { try record(id) } else { unconfirmed?.append(id) }
        }
    }

    private func nextMatch() throws(ClientError) -> PendingMatch? {
        guard !Task.isCancelled else { return nil }
        // The unconfirmed ones are still there, and come first.
        let pending = try profile.database.nextMatch(
            now: environment.wallSeconds(), skipping: unconfirmed?.count ?? 0)
        guard let pending, hidesSequence else { return pending }
        return (pending.match.with(sequence: 0), pending.failures)
    }

    private func record(_ id: MatchID) throws(ClientError) {
        try profile.database.markDelivered(id, now: environment.wallSeconds())
        deliveredUnrecorded.remove(id)
    }

    private func postpone(_ pending: PendingMatch) throws(ClientError) {
        let failures = pending.failures + 1
        let delay = Backoff.delivery.delay(
            failures: failures, random: environment.randomUnit(), floor: .seconds(60))
        try profile.database.postpone(
            pending.match.id, failures: failures,
            until: environment.wallSeconds() + delay.wholeSeconds)
        environment.log(.deliveryFailed(retrySeconds: Int(delay.wholeSeconds)))
    }

    func deferConfirmation() { unconfirmed = unconfirmed ?? [] }

    func confirm() throws(ClientError) {
        while let id = unconfirmed?.first {
            try record(id)
            unconfirmed?.removeFirst()
        }
    }

    /// Reports a full disk, once until the state can be written again.
    func reportFullDisk() async {
        guard profile.reportFullDisk() else { return }
        await handler.handle(.diskFull)
    }

    func warnOfSilence() async {
        var next = profile.record
        let warning = next.health.silence(now: environment.wallSeconds())
        // Also without a warning, or every start would begin to count again.
        guard next != profile.record else { return }
        do throws(ClientError) {
            try profile.save(next, warnings: warning.map { [$0] } ?? [], as: .feed)
        } catch {
            // The state cannot be written: warn all the same, and again after a restart.
            profile.keepUnsaved(next)
            if let warning { await handler.handle(warning) }
        }
    }

    /// Forgets what was delivered by this process, after the state was erased.
    func reset() { deliveredUnrecorded = [] }
}
