import WakeFeed
import WakeSystem

/// The matches and warnings for loops over `WakeClient.events`: read from the state when a loop
/// asks, and out until it is acknowledged or comes back. Nothing is kept here but their names.
final class EventQueue {
    private let profile: ProfileState
    private let environment: ClientEnvironment
    private let returned: ReturnedEvents
    private var matchesOut: Set<MatchID> = []
    private var warningsOut: Set<Int64> = []
    /// Acknowledged while the disk had no room to record it.
    private var unrecorded: [MatchID] = []

    init(_ profile: ProfileState, _ returned: ReturnedEvents, in environment: ClientEnvironment) {
        self.profile = profile
        self.returned = returned
        self.environment = environment
    }

    /// Takes back what loops have dropped, and records what could not be recorded before.
    func settle() throws(ClientError) {
        for item in returned.takeAll() {
            switch item {
            case .warning(let id): warningsOut.remove(id)
            case .match(let id): try? postpone(id)
            }
        }
        while let id = unrecorded.first {
            try record(id)
            unrecorded.removeFirst()
        }
    }

    func nextWarning() throws(ClientError) -> (id: Int64, warning: Warning)? {
        guard let next = try profile.database.nextWarning(excluding: warningsOut) else {
            return nil
        }
        warningsOut.insert(next.id)
        return next
    }

    func confirm(warning id: Int64) throws(ClientError) {
        defer { warningsOut.remove(id) }
        try profile.database.dropWarning(id)
    }

    func giveBack(warning id: Int64) { warningsOut.remove(id) }

    func nextMatch() throws(ClientError) -> Match? {
        guard matchesOut.count < ClientEvents.mostUnacknowledged else { return nil }
        let next = try profile.database.nextMatch(
            now: environment.wallSeconds(), excluding: matchesOut)
        if let next { matchesOut.insert(next.match.id) }
        return next?.match
    }

    /// The time at which a match is due that is not out; nil when none is.
    func nextDelivery() throws(ClientError) -> Int64? {
        guard matchesOut.count < ClientEvents.mostUnacknowledged else { return nil }
        return try profile.database.nextDelivery(excluding: matchesOut)
    }

    /// The match is out no more, except when it could not be recorded.
    func acknowledge(_ id: MatchID) throws(ClientError) {
        do throws(ClientError) {
            try record(id)
        } catch {
            // It must not be handed out again by this process.
            unrecorded.append(id)
            throw error
        }
    }

    private func record(_ id: MatchID) throws(ClientError) {
        try profile.database.markDelivered(id, now: environment.wallSeconds())
        profile.noteTraces()
        matchesOut.remove(id)
    }

    func postpone(_ id: MatchID) throws(ClientError) {
        matchesOut.remove(id)
        guard let progress = try profile.database.progress(of: id), !progress.isDelivered else {
            return
        }
        try profile.postpone(id, failures: progress.failures + 1, in: environment)
    }

    func reset() { (matchesOut, warningsOut, unrecorded) = ([], [], []) }
}

extension ProfileState {
    /// Delivers a match again after a back-off.
    func postpone(
        _ id: MatchID, failures: Int, in environment: ClientEnvironment
    ) throws(ClientError) {
        let delay = Backoff.delivery.delay(
            failures: failures, random: environment.randomUnit(), floor: .seconds(60))
        try database.postpone(
            id, failures: failures, until: environment.wallSeconds() + delay.wholeSeconds)
        environment.log(.deliveryFailed(retrySeconds: Int(delay.wholeSeconds)))
    }
}
