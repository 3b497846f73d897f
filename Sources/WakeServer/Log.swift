private import Glibc
import Synchronization
package import WakeModel
package import WakePush
package import WakeStore
import WakeSystem

/// The levels of the log, each including those before it.
package enum LogLevel: String, Sendable, Equatable, CaseIterable {
    case error
    case info
    case debug

    /// Of the levels up to this one.
    fileprivate var count: Int {
        switch self {
        case .error: 1
        case .info: 2
        case .debug: 3
        }
    }

    /// Its number in syslog(3), for the journal.
    fileprivate var priority: String {
        switch self {
        case .error: "<3>"
        case .info: "<6>"
        case .debug: "<7>"
        }
    }
}

/// The events that this service can log. The vocabulary is closed: an event carries numbers and
/// names from lists only, so no token, address, endpoint or URL can reach a log.
/// `Policy/privacy.json` and the privacy suite hold this list.
package enum LogEvent: Sendable, Equatable {
    /// Listening; the port is 0 on a Unix socket.
    case started(port: UInt16)
    case stopping
    case stopped
    case storeOpened(milliseconds: Int)
    /// A flush failed: nothing unacknowledged can be trusted, the process ends.
    case storeFailed
    /// Event streams were woken; push services follow.
    case broadcastStarted(sequence: UInt64, streams: Int, reasons: BroadcastReasons)
    case broadcastEnded(BroadcastReport)
    /// The pushes take longer than the interval, seconds; they leave all the same.
    case planStretched(needed: Int, interval: Int)
    case headSeen(sequence: UInt64)
    case gatewayStopped(PushService, GatewayFailure)
    /// Nothing more is deleted for this push service in this run, see ``DeletionBreaker``.
    case deletionBreakerTripped(PushService)
    case broadcastResumed(permille: Int)
    /// The checkpoint or the schedule's history cannot be written: a crash would repeat pushes.
    case checkpointUnwritable
    /// The previous generation is dropped; milliseconds for which everything else waited.
    case rotated(generation: UInt64, dropped: Int, kept: Int, milliseconds: Int)
    case rotationFailed(RotationFailure)
    /// The age of the generation is unknown: a full interval begins.
    case rotationFileDamaged
    /// The age of the generation cannot be written: a restart would forget some of it.
    case rotationUnwritable
    /// The keys are in no file: the store began empty, without the rows of before, which nobody
    /// could open.
    case keysInMemory(forgotten: Int)
    /// Memory that holds keys cannot be locked: it may be written to swap.
    case keysUnlocked
    case feedChanged(sequence: UInt64)
    case feedUnreadable
    /// `feed refresh` failed, which `serve --refresh-feed` has run; the next interval tries again.
    case feedRefreshFailed
    case relayOn(installations: Int)
    /// The file of installations is damaged, or cannot be read: none is accepted.
    case relayInstallationsUnusable
    case relayBatch(accepted: Int, gone: Int, retried: Int, stopped: Int)
    case relayRefused(Problem)
    case trouble(Trouble)
    case troubleOver(Trouble)
    /// The configuration was read again: keys with another value, sections whose gateways were
    /// made again, and keys that need a restart.
    case reloaded(keys: Int, gateways: Int, restart: Int)
    /// A key whose value changed in the file and not in the service.
    case restartNeeded(SettingName)
    /// Nothing has changed; the line of the file, 0 where it is not about one.
    case reloadRefused(ReloadRefusal.Cause, line: Int)
    /// Nobody read the log for a while: the number of lines that had no room.
    case logDropped(lines: Int)

    package var line: String { entry.line }

    fileprivate var entry: (level: LogLevel, line: String) {
        switch self {
        case .started(0): (.info, "started-on-socket")
        case .started(let port): (.info, "started port=\(port)")
        case .stopping: (.info, "stopping")
        case .stopped: (.info, "stopped")
        case .storeOpened(let milliseconds): (.debug, "store-opened ms=\(milliseconds)")
        case .storeFailed: (.error, "store-failed")
        case .broadcastStarted(let sequence, let streams, let reasons):
            (
                .info,
                "broadcast-started sequence=\(sequence) streams=\(streams) reasons=\(reasons.names)"
            )
        case .broadcastEnded(let report): (.info, "broadcast-ended \(report.logFields)")
        case .planStretched(let needed, let interval):
            (.error, "plan-stretched needed=\(needed) interval=\(interval)")
        case .headSeen(let sequence): (.info, "head-seen sequence=\(sequence)")
        case .gatewayStopped(let service, let failure):
            (
                .error,
                "gateway-stopped service=\(service.name) reason=\(failure.name) "
                    + "goaway=\(failure.goAway?.rawValue ?? "none")"
            )
        case .deletionBreakerTripped(let service):
            (.error, "deletion-breaker-tripped service=\(service.name)")
        case .broadcastResumed(let permille): (.info, "broadcast-resumed permille=\(permille)")
        case .checkpointUnwritable: (.error, "checkpoint-unwritable")
        case .rotated(let generation, let dropped, let kept, let time):
            (.info, "rotated generation=\(generation) dropped=\(dropped) kept=\(kept) ms=\(time)")
        case .rotationFailed(let failure): (.error, "rotation-failed cause=\(failure.name)")
        case .rotationFileDamaged: (.error, "rotation-file-damaged")
        case .rotationUnwritable: (.error, "rotation-unwritable")
        case .keysInMemory(let forgotten): (.info, "keys-in-memory forgotten=\(forgotten)")
        case .keysUnlocked: (.error, "keys-unlocked")
        case .feedChanged(let sequence): (.debug, "feed-changed sequence=\(sequence)")
        case .feedUnreadable: (.error, "feed-unreadable")
        case .feedRefreshFailed: (.error, "feed-refresh-failed")
        case .relayOn(let installations): (.info, "relay-on installations=\(installations)")
        case .relayInstallationsUnusable: (.error, "relay-installations-unusable")
        case .relayBatch(let accepted, let gone, let retried, let end):
            (
                .debug,
                "relay-batch accepted=\(accepted) gone=\(gone) retried=\(retried) stopped=\(end)"
            )
        case .relayRefused(let problem): (.debug, "relay-refused code=\(problem.code)")
        case .trouble(let trouble): (.error, "trouble kind=\(trouble.rawValue)")
        case .troubleOver(let trouble): (.info, "trouble-over kind=\(trouble.rawValue)")
        case .reloaded(let keys, let gateways, let restart):
            (.info, "reloaded keys=\(keys) gateways=\(gateways) restart=\(restart)")
        case .restartNeeded(let name):
            (.error, "restart-needed section=\(name.section) key=\(name.key)")
        case .reloadRefused(let cause, let line):
            (.error, "reload-refused refusal=\(cause.rawValue) line=\(line)")
        case .logDropped(let lines): (.error, "log-dropped lines=\(lines)")
        }
    }
}

extension BroadcastReport {
    fileprivate var logFields: String {
        "run=\(run) sequence=\(sequence) complete=\(isComplete ? 1 : 0) "
            + "ms=\(counters.milliseconds) "
            + counters.named.map { "\($0)=\($1)" }.joined(separator: " ")
    }
}

/// Writes events to standard error, one line each; the journal adds the time. Never blocks: neither
/// the event loop nor the store's writer waits for the reader of the log.
package struct Log: Sendable {
    private let levels: Levels
    /// About 5,000 lines.
    private static let writer = LineWriter(STDERR_FILENO, capacity: 262_144) { dropped in
        Log.bytes(LogEvent.logDropped(lines: dropped).entry)
    }

    private let isJournal: Bool

    /// - Parameter isJournal: a priority stands before each line, which the journal takes away
    ///   (sd-daemon(3)).
    package init(level: LogLevel, isJournal: Bool = false) {
        levels = Levels(level)
        self.isJournal = isJournal
    }

    /// Changes the level for every copy of this log.
    func change(to level: LogLevel) { levels.count.store(level.count, ordering: .relaxed) }

    private final class Levels: Sendable {
        /// Of the levels that are written, from `error` on.
        let count: Atomic<Int>

        init(_ level: LogLevel) { count = Atomic(level.count) }
    }

    package func callAsFunction(_ event: LogEvent) {
        let entry = event.entry
        guard entry.level.count <= levels.count.load(ordering: .relaxed) else { return }
        Self.writer.write(Self.bytes(entry, isJournal: isJournal))
    }

    /// Before the process ends: waits a second at most until what was logged is written.
    package static func flush() { writer.flush(within: .seconds(1)) }

    private static func bytes(
        _ entry: (level: LogLevel, line: String), isJournal: Bool = false
    ) -> [UInt8] {
        let priority = isJournal ? entry.level.priority : ""
        return Array("\(priority)reveille \(entry.level.rawValue) \(entry.line)\n".utf8)
    }
}
