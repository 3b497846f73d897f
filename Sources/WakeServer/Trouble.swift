import WakeModel
import WakePush
import WakeStore

/// A condition that the operator has to mend, by its code: in `reveille status`, the admin
/// listener's `/health`, the log and `reveille_trouble`.
package enum Trouble: String, CaseIterable, Sendable {
    case storeFull = "store-full"
    case storeFailing = "store-failing"
    case keyFileMissing = "key-file-missing"
    case diskLow = "disk-low"
    case feedUnreadable = "feed-unreadable"
    case feedNotRefreshed = "feed-not-refreshed"
    case feedExpired = "feed-expired"
    case feedUnwitnessed = "feed-unwitnessed"
    case broadcastLate = "broadcast-late"
    case gatewayMissing = "gateway-missing"
    case gatewayStopped = "gateway-stopped"
    case pushesRefused = "pushes-refused"
    case breakerTripped = "breaker-tripped"
    case rotationFailed = "rotation-failed"
    case auditViolations = "audit-violations"
    case shardAway = "shard-away"

    /// What it means and what to do, for the terminal.
    package var message: String {
        switch self {
        case .storeFull: "new registrations are refused: the disk or the store's limit is full"
        case .storeFailing: "the store cannot be written; see the log"
        case .keyFileMissing:
            "the store's keys are in memory alone: put the file back, or `reveille rotate --now`"
        case .diskLow: "less room than the registrations take that are still to be renewed"
        case .feedUnreadable: "there is no head of the feed to be read: `reveille feed verify`"
        case .feedNotRefreshed:
            "half of the life of the feed's head has passed: is reveille-feed.timer enabled?"
        case .feedExpired:
            "the feed's head has expired, and clients warn their users: `reveille feed refresh`"
        case .feedUnwitnessed:
            "the head has fewer cosignatures than the policy asks for, and clients with that "
                + "policy refuse it: `reveille feed refresh` names the witnesses"
        case .broadcastLate: "no broadcast for longer than two intervals; see the log"
        case .gatewayMissing:
            "registrations are stored, and no push service is on: nothing wakes their apps; "
                + "`reveille check` shows what is configured"
        case .gatewayStopped: "a gateway stopped in the last broadcast, for the reason given there"
        case .pushesRefused: "fewer than half of the pushes of the last broadcast were accepted"
        case .breakerTripped:
            "the push service rejected an implausible number of tokens; most were kept"
        case .rotationFailed: "the last rotation failed; it is tried again, see the log"
        case .auditViolations: "the last `reveille audit --tell` found violations"
        case .shardAway:
            "a shard of [cluster] peers did not acknowledge the last deletion, which was answered "
                + "503: start it, or take it out when its disk is destroyed"
        }
    }
}

/// The facts that troubles are judged by, at one moment.
struct TroubleFacts: Sendable {
    var store = StoreCondition.ready
    var isKeyFileMissing = false
    /// Bytes that renewals of this generation need, and free ones; nil: not known.
    var needed = 0
    var free: Int?
    /// nil: no head of the feed can be read.
    var head: FeedHeadTimes?
    /// Whether a feed elsewhere is being asked for the first time.
    var isHeadAwaited = false
    /// nil without a policy.
    var witnesses: WitnessFacts?
    /// Seconds since 1970.
    var now: Int64 = 0
    var report = BroadcastReport()
    /// Registrations are stored, and there is no gateway.
    var isGatewayMissing = false
    /// nil where no broadcast is expected.
    var pause: BroadcastPause?
    var isRotationFailing = false
    var violations = 0
    var isPeerAway = false

    var troubles: [Trouble] { Trouble.allCases.filter(has) }

    private func has(_ trouble: Trouble) -> Bool {
        switch trouble {
        case .storeFull: store == .full
        case .storeFailing: store == .failing || store == .failed
        case .keyFileMissing: isKeyFileMissing
        case .diskLow: free.map { $0 < needed } ?? false
        case .feedUnreadable: head == nil && !isHeadAwaited
        case .feedNotRefreshed: head?.isHalfSpent(now) == true
        case .feedExpired: head.map { now > $0.expires } ?? false
        case .feedUnwitnessed: witnesses?.isQuorum == false
        case .broadcastLate: pause?.isTooLong == true
        case .gatewayMissing: isGatewayMissing
        case .gatewayStopped: !report.stopped.isEmpty
        case .pushesRefused: report.isComplete && report.isMostlyRefused
        case .breakerTripped: !report.tripped.isEmpty
        case .rotationFailed: isRotationFailing
        case .auditViolations: violations > 0
        case .shardAway: isPeerAway
        }
    }
}

/// The time without a broadcast, in seconds, and what it depends on.
struct BroadcastPause: Sendable {
    /// Since the last push of the last run, also of an earlier process, or since the start of the
    /// one that goes on; nil: there was none.
    var sinceRun: Int?
    /// Since the service started.
    var uptime = 0
    /// In which there is one heartbeat.
    var interval = 0
    /// That a run takes by its plan.
    var planned = 0

    /// After a start, for what was due while the service was down.
    static let startSeconds = 600

    /// Whether two intervals have passed, and the time that a run takes.
    var isTooLong: Bool {
        uptime >= Self.startSeconds && sinceRun ?? uptime > 2 * interval + planned
    }
}

/// The troubles that the log has: each begins at once, and is over when it has not been seen for a
/// minute. One that comes and goes is logged twice a minute at most.
struct TroubleLog {
    /// Milliseconds of a steady clock at which each was last seen.
    private var seen: [Trouble: UInt64] = [:]
    private static let quietTime: UInt64 = 60_000

    /// - Returns: what to log now.
    mutating func note(
        _ troubles: [Trouble], now: UInt64
    ) -> (begun: [Trouble], over: [Trouble]) {
        let begun = troubles.filter { seen[$0] == nil }
        for trouble in troubles { seen[trouble] = now }
        let over = Trouble.allCases.filter { trouble in
            seen[trouble].map { now - $0 >= Self.quietTime } ?? false
        }
        for trouble in over { seen[trouble] = nil }
        return (begun, over)
    }
}

/// The moments between which a head of the feed counts, seconds since 1970.
struct FeedHeadTimes: Equatable, Sendable {
    let issued: Int64
    let expires: Int64
    /// The end of the pause of wake-ups that it asks for, which may have passed; nil without one.
    var pausedUntil: Int64?

    /// Whether more than half of its life has passed, and not all of it.
    func isHalfSpent(_ now: Int64) -> Bool {
        now > issued + (expires - issued) / 2 && now <= expires
    }
}
