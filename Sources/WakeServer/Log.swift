private import Glibc
package import WakeModel
package import WakePush
package import WakeStore
import WakeSystem

/// The levels of the log, each including those before it.
package enum LogLevel: String, Sendable, Equatable, CaseIterable {
    case error
    case info
    case debug
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
    /// Registrations are refused for lack of room; deletes work.
    case storeFull
    case storeFailing
    case storeRecovered
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
    /// The previous generation is dropped; milliseconds in which nothing else was done.
    case rotated(generation: UInt64, dropped: Int, kept: Int, milliseconds: Int)
    case rotationFailed(RotationFailure)
    /// Rows and keys are gone, but there is no room to rewrite the database; tried again later.
    case compactionPutOff(needed: Int, free: Int)
    case compactionFailed
    case compacted(bytes: Int, milliseconds: Int)
    /// The age of the generation is unknown: a full interval begins.
    case rotationFileDamaged
    /// The age of the generation cannot be written: a restart would forget some of it.
    case rotationUnwritable
    /// The keys are in no file: the store began empty, without so many rows that nobody could open.
    case keysInMemory(forgotten: Int)
    /// Memory that holds keys cannot be locked: it may be written to swap.
    case keysUnlocked
    case feedChanged(sequence: UInt64)
    case feedUnreadable
    case relayOn(installations: Int)
    /// The file of installations is damaged, or cannot be read: none is accepted.
    case relayInstallationsUnusable
    case relayBatch(accepted: Int, gone: Int, retried: Int, stopped: Int)
    case relayRefused(Problem)
    /// Nobody read the log for a while: so many lines had no room.
    case logDropped(lines: Int)

    package var line: String { entry.line }

    fileprivate var entry: (level: LogLevel, line: String) {
        switch self {
        case .started(let port): (.info, "started port=\(port)")
        case .stopping: (.info, "stopping")
        case .stopped: (.info, "stopped")
        case .storeOpened(let milliseconds): (.debug, "store-opened ms=\(milliseconds)")
        case .storeFull: (.error, "store-full")
        case .storeFailing: (.error, "store-failing")
        case .storeRecovered: (.info, "store-recovered")
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
        case .compactionPutOff(let needed, let free):
            (.error, "compaction-put-off needed=\(needed) free=\(free)")
        case .compactionFailed: (.error, "compaction-failed")
        case .compacted(let bytes, let milliseconds):
            (.info, "compacted bytes=\(bytes) ms=\(milliseconds)")
        case .rotationFileDamaged: (.error, "rotation-file-damaged")
        case .rotationUnwritable: (.error, "rotation-unwritable")
        case .keysInMemory(let forgotten): (.info, "keys-in-memory forgotten=\(forgotten)")
        case .keysUnlocked: (.error, "keys-unlocked")
        case .feedChanged(let sequence): (.debug, "feed-changed sequence=\(sequence)")
        case .feedUnreadable: (.error, "feed-unreadable")
        case .relayOn(let installations): (.info, "relay-on installations=\(installations)")
        case .relayInstallationsUnusable: (.error, "relay-installations-unusable")
        case .relayBatch(let accepted, let gone, let retried, let end):
            (
                .debug,
                "relay-batch accepted=\(accepted) gone=\(gone) retried=\(retried) stopped=\(end)"
            )
        case .relayRefused(let problem): (.debug, "relay-refused code=\(problem.code)")
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
/// the event loop nor the store's writer waits for whoever reads the log.
package struct Log: Sendable {
    private let level: LogLevel
    /// About 5,000 lines.
    private static let writer = LineWriter(STDERR_FILENO, capacity: 262_144) { dropped in
        Log.bytes(LogEvent.logDropped(lines: dropped).entry)
    }

    package init(level: LogLevel) { self.level = level }

    package func callAsFunction(_ event: LogEvent) {
        let entry = event.entry
        guard
            entry.level == level
                || LogLevel.allCases.prefix(while: { $0 != level }).contains(entry.level)
        else { return }
        Self.writer.write(Self.bytes(entry))
    }

    /// Before the process ends: waits a second at most until what was logged is written.
    package static func flush() { writer.flush(within: .seconds(1)) }

    private static func bytes(_ entry: (level: LogLevel, line: String)) -> [UInt8] {
        Array("reveille \(entry.level.rawValue) \(entry.line)\n".utf8)
    }
}
