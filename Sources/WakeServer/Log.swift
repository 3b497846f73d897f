private import Glibc
package import WakeModel
package import WakePush
package import WakeStore

/// How much is logged.
package enum LogLevel: String, Sendable, Equatable, CaseIterable {
    case error
    case info
    case debug
}

/// Everything this service can log. The vocabulary is closed: an event carries numbers and words
/// of this file only, so no token, address, endpoint or URL can reach a log. `Policy/privacy.json`
/// and the privacy suite hold this list.
package enum LogEvent: Sendable, Equatable {
    /// Listening; the port is 0 on a Unix socket.
    case started(port: UInt16)
    case stopping
    case stopped
    case storeOpened(milliseconds: Int)
    /// Registrations are refused for lack of room; deletes work.
    case storeFull
    /// The files cannot be written.
    case storeFailing
    /// Registrations are taken again.
    case storeRecovered
    /// A flush failed: nothing unacknowledged can be trusted, the process ends.
    case storeFailed
    /// Event streams have been told; push services follow.
    case broadcastStarted(sequence: UInt64, streams: Int, reasons: BroadcastReasons)
    case broadcastEnded(BroadcastSummary)
    /// The pushes would take longer than the interval, seconds: they were left out.
    case planRefused(needed: Int, interval: Int)
    /// The watched feed has something new.
    case headSeen(sequence: UInt64)
    /// Why a gateway stopped: a word from a list.
    case gatewayStopped(PushService, GatewayFailure)
    /// Too many push tokens are called gone to believe it: nothing more is deleted for this push
    /// service in this round.
    case brakeTripped(PushService)
    /// The round goes on where a run of the service before had to stop.
    case roundResumed(permille: Int)
    /// The file that says where a round stands cannot be written: a crash would repeat much of it.
    case roundUnwritable
    /// The previous generation is dropped; milliseconds in which nothing else was done.
    case rotated(generation: UInt64, dropped: Int, kept: Int, milliseconds: Int)
    /// Nothing is dropped; tried again later.
    case rotationFailed(RotationFailure)
    /// Rows and keys are gone, but there is no room to write the database anew; tried again later.
    case compactionPutOff(needed: Int, free: Int)
    case compactionFailed
    /// What was put off has been done.
    case compacted(bytes: Int, milliseconds: Int)
    /// The age of the generation is unknown: a full interval begins.
    case rotationFileDamaged
    /// The age of the generation cannot be written down: a restart would forget some of it.
    case rotationUnwritable
    /// No keys in any file: the store began empty; rows of before that nobody could open.
    case keysInMemory(forgotten: Int)
    case feedChanged(sequence: UInt64)
    case feedUnreadable
    /// Wake-ups of so many installations are passed on.
    case relayOn(installations: Int)
    /// The file of installations is damaged, or cannot be read: nobody is let through.
    case relayInstallationsUnusable
    /// What became of one request of an installation.
    case relayBatch(accepted: Int, gone: Int, retried: Int, stopped: Int)
    case relayRefused(Problem)

    var level: LogLevel {
        switch self {
        case .storeFailed, .storeFull, .storeFailing, .feedUnreadable, .gatewayStopped,
            .brakeTripped, .roundUnwritable, .planRefused, .rotationFailed, .compactionPutOff,
            .compactionFailed, .rotationFileDamaged, .rotationUnwritable,
            .relayInstallationsUnusable:
            .error
        case .started, .stopping, .stopped, .storeRecovered, .broadcastStarted, .broadcastEnded,
            .roundResumed, .headSeen, .rotated, .compacted, .keysInMemory, .relayOn:
            .info
        case .storeOpened, .feedChanged, .relayBatch, .relayRefused: .debug
        }
    }

    /// One line: the event's name, then `key=number` fields.
    package var line: String {
        switch self {
        case .started(let port): "started port=\(port)"
        case .stopping: "stopping"
        case .stopped: "stopped"
        case .storeOpened(let milliseconds): "store-opened ms=\(milliseconds)"
        case .storeFull: "store-full"
        case .storeFailing: "store-failing"
        case .storeRecovered: "store-recovered"
        case .storeFailed: "store-failed"
        case .broadcastStarted(let sequence, let streams, let reasons):
            "broadcast-started sequence=\(sequence) streams=\(streams) reasons=\(reasons.words)"
        case .planRefused(let needed, let interval):
            "plan-refused needed=\(needed) interval=\(interval)"
        case .headSeen(let sequence): "head-seen sequence=\(sequence)"
        case .broadcastEnded(let summary): "broadcast-ended \(summary.fields)"
        case .gatewayStopped(let service, let failure):
            "gateway-stopped service=\(service.word) reason=\(failure.word)"
        case .brakeTripped(let service): "brake-tripped service=\(service.word)"
        case .roundResumed(let permille): "round-resumed permille=\(permille)"
        case .roundUnwritable: "round-unwritable"
        case .rotated(let generation, let dropped, let kept, let milliseconds):
            "rotated generation=\(generation) dropped=\(dropped) kept=\(kept) ms=\(milliseconds)"
        case .rotationFailed(let failure): "rotation-failed cause=\(failure.word)"
        case .compactionPutOff(let needed, let free):
            "compaction-put-off needed=\(needed) free=\(free)"
        case .compactionFailed: "compaction-failed"
        case .compacted(let bytes, let milliseconds):
            "compacted bytes=\(bytes) ms=\(milliseconds)"
        case .rotationFileDamaged: "rotation-file-damaged"
        case .rotationUnwritable: "rotation-unwritable"
        case .keysInMemory(let forgotten): "keys-in-memory forgotten=\(forgotten)"
        case .feedChanged(let sequence): "feed-changed sequence=\(sequence)"
        case .feedUnreadable: "feed-unreadable"
        case .relayOn(let installations): "relay-on installations=\(installations)"
        case .relayInstallationsUnusable: "relay-installations-unusable"
        case .relayBatch(let accepted, let gone, let retried, let stopped):
            "relay-batch accepted=\(accepted) gone=\(gone) retried=\(retried) stopped=\(stopped)"
        case .relayRefused(let problem): "relay-refused code=\(problem.code)"
        }
    }
}

/// One broadcast in numbers.
package struct BroadcastSummary: Sendable, Equatable {
    package let report: BroadcastReport

    package init(_ report: BroadcastReport) { self.report = report }

    var fields: String {
        let counters = report.counters
        return "round=\(report.round) sequence=\(report.sequence) "
            + "complete=\(report.isComplete ? 1 : 0) ms=\(counters.milliseconds) "
            + "rows=\(counters.rows) accepted=\(counters.accepted) gone=\(counters.gone) "
            + "deleted=\(counters.deleted) retried=\(counters.retried) "
            + "abandoned=\(counters.abandoned) duplicates=\(counters.duplicates) "
            + "unsent=\(counters.unsent) unserved=\(counters.unserved)"
    }
}

/// Writes events to standard error, one line each; the journal adds the time.
package struct Log: Sendable {
    private let level: LogLevel

    package init(level: LogLevel) {
        self.level = level
    }

    package func callAsFunction(_ event: LogEvent) {
        let order = LogLevel.allCases
        guard let wanted = order.firstIndex(of: level),
            let given = order.firstIndex(of: event.level),
            given <= wanted
        else { return }
        let line = Array("reveille \(event.level.rawValue) \(event.line)\n".utf8)
        // One write per line, so that lines of several threads never mix (write(2), pipes).
        _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
