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
    /// What ended, and is out until the disk has room to record that: handed out again at once, it
    /// would come without end.
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
    func settle() throws(ClientError) {
        for item in returned.takeAll() {
            switch item {
            case .warning(let id): warningsOut.remove(id)
            case .match(let id): unrecorded.postponed.append(id)
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
                try profile.postpone(id, failures: progress.failures + 1, in: environment)
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

    func nextWarning() throws(ClientError) -> (id: Int64, warning: Warning)? {
        guard let next = try profile.database.nextWarning(excluding: warningsOut) else {
            return nil
        }
        warningsOut.insert(next.id)
        return next
    }

    func confirm(warning id: Int64) throws(ClientError) {
        unrecorded.warnings.append(id)
        try settle()
    }

    func giveBack(warning id: Int64) { warningsOut.remove(id) }

    func nextMatch() throws(ClientError) -> Match? {
        guard matchesOut.count < MatchDelivery.mostUnacknowledged else { return nil }
        let next = try profile.database.nextMatch(
            now: environment.wallSeconds(), excluding: matchesOut)
        if let next { matchesOut.insert(next.match.id) }
        return next?.match
    }

    /// The time at which a match is due that is not out; nil when none is.
    func nextDelivery() throws(ClientError) -> Int64? {
        guard matchesOut.count < MatchDelivery.mostUnacknowledged else { return nil }
        return try profile.database.nextDelivery(excluding: matchesOut)
    }

    func acknowledge(_ id: MatchID) throws(ClientError) {
        unrecorded.acknowledged.append(id)
        try settle()
    }

    func postpone(_ id: MatchID) throws(ClientError) {
        unrecorded.postponed.append(id)
        try settle()
    }

    func reset() { (matchesOut, warningsOut, unrecorded) = ([], [], Unrecorded()) }
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
