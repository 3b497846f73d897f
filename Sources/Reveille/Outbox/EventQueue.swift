import WakeFeed
import WakeSystem

/// The matches and warnings that are out: read from the state when a handler or a loop over
/// `WakeClient.events` takes them, and out until their end is recorded. Nothing is kept here but
/// their names.
final class EventQueue {
    private let profile: ProfileState
    private let environment: ClientEnvironment
    private let returned: ReturnedEvents
    private var matchesOut: Set<MatchID> = []
    private var warningsOut: Set<Int64> = []
    /// Deliveries that have ended and are not recorded yet: a cycle is running, or the disk is
    /// full. They stay out until then: a match handed out again at once would come without end.
    private var unrecorded = Unrecorded()

    private struct Unrecorded {
        var acknowledged: [MatchID] = []
        var postponed: [MatchID] = []
        var warnings: [Int64] = []
    }

    init(_ profile: ProfileState, _ returned: ReturnedEvents, in environment: ClientEnvironment) {
        self.profile = profile
        self.returned = returned
        self.environment = environment
    }

    /// Takes back what loops have dropped, and records what has ended.
    /// - Throws: `diskFull`, and what is not recorded by then is tried again the next time.
    func record() throws(ClientError) {
        for item in returned.takeAll() {
            switch item {
            case .warning(let id): warningsOut.remove(id)
            case .match(let id): postpone(id)
            }
        }
        while let id = unrecorded.acknowledged.first {
            try profile.database.markDelivered(id, now: environment.wallSeconds())
            profile.noteTraces()
            matchesOut.remove(id)
            unrecorded.acknowledged.removeFirst()
        }
        while let id = unrecorded.postponed.first {
            if let progress = try profile.database.progress(of: id), !progress.isDelivered {
                try postpone(id, failures: progress.failures + 1)
            }
            matchesOut.remove(id)
            unrecorded.postponed.removeFirst()
        }
        while let id = unrecorded.warnings.first {
            try profile.database.dropWarning(id)
            warningsOut.remove(id)
            unrecorded.warnings.removeFirst()
        }
    }

    /// A match is delivered again after a back-off.
    private func postpone(_ id: MatchID, failures: Int) throws(ClientError) {
        let delay = Backoff.delivery.delay(
            failures: failures, random: environment.randomUnit(), floor: .seconds(60))
        try profile.database.postpone(
            id, failures: failures, until: environment.wallSeconds() + delay.wholeSeconds)
        environment.log(.deliveryFailed(retrySeconds: Int(delay.wholeSeconds)))
    }

    // MARK: Warnings

    func nextWarning() throws(ClientError) -> (id: Int64, warning: Warning)? {
        guard let next = try profile.database.nextWarning(excluding: warningsOut) else {
            return nil
        }
        warningsOut.insert(next.id)
        return next
    }

    func confirm(warning id: Int64) { unrecorded.warnings.append(id) }

    func giveBack(warning id: Int64) { warningsOut.remove(id) }

    // MARK: Matches

    /// - Parameter most: matches that may be out at a time.
    func nextMatch(most: Int = .max) throws(ClientError) -> Match? {
        guard matchesOut.count < most else { return nil }
        let next = try profile.database.nextMatch(
            now: environment.wallSeconds(), excluding: matchesOut)
        if let next { matchesOut.insert(next.id) }
        return next
    }

    /// The time at which a match is due that is not out; nil when none is.
    func nextDelivery(most: Int = .max) throws(ClientError) -> Int64? {
        guard matchesOut.count < most else { return nil }
        return try profile.database.nextDelivery(excluding: matchesOut)
    }

    func acknowledge(_ id: MatchID) {
        matchesOut.insert(id)
        unrecorded.acknowledged.append(id)
    }

    func postpone(_ id: MatchID) { unrecorded.postponed.append(id) }

    func giveBack(_ id: MatchID) { matchesOut.remove(id) }

    func reset() { (matchesOut, warningsOut, unrecorded) = ([], [], Unrecorded()) }
}
