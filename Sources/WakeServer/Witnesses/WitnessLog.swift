private import Glibc
import WakeSystem

/// The events that a witness can log. The vocabulary is closed: numbers alone, no name of a log, no
/// address.
package enum WitnessEvent: Sendable, Equatable {
    /// Listening; the port is 0 on a Unix socket.
    case started(port: UInt16, logs: Int)
    case stopped
    /// A log by its place in `reveille witness list`, and the size of its tree.
    case cosigned(log: Int, size: UInt64)
    /// The log has signed two trees of this size: its operator, or a thief of its key, lies. Both
    /// checkpoints are kept.
    case forked(log: Int, size: UInt64)
    /// The list of logs was read again.
    case logsChanged(count: Int)
    /// The list of logs, or a record of one of them, is damaged: the list of before holds.
    case logsUnusable
    /// Nothing is cosigned: records cannot be written (errno(3)).
    case storeFailing(Int32)
    case storeRecovered
    /// Nothing is cosigned until the clock is where it was.
    case clockBehind(seconds: Int)
    /// Nobody read the log for a while: the number of lines that had no room.
    case logDropped(lines: Int)

    package var line: String {
        switch self {
        case .started(0, let logs): "info started-on-socket logs=\(logs)"
        case .started(let port, let logs): "info started port=\(port) logs=\(logs)"
        case .stopped: "info stopped"
        case .cosigned(let log, let size): "info cosigned log=\(log) size=\(size)"
        case .forked(let log, let size): "error forked log=\(log) size=\(size)"
        case .logsChanged(let count): "info logs-changed logs=\(count)"
        case .logsUnusable: "error logs-unusable"
        case .storeFailing(let number): "error store-failing errno=\(number)"
        case .storeRecovered: "info store-recovered"
        case .clockBehind(let seconds): "error clock-behind seconds=\(seconds)"
        case .logDropped(let lines): "error log-dropped lines=\(lines)"
        }
    }
}

/// Writes a witness's events to standard error, one line each; never blocks.
package struct WitnessLog: Sendable {
    private static let writer = LineWriter(STDERR_FILENO, capacity: 65_536) { dropped in
        WitnessLog.bytes(.logDropped(lines: dropped), isJournal: false)
    }

    private let isJournal: Bool

    /// - Parameter isJournal: a priority stands before each line, which the journal takes away
    ///   (sd-daemon(3)).
    package init(isJournal: Bool) { self.isJournal = isJournal }

    package func callAsFunction(_ event: WitnessEvent) {
        Self.writer.write(Self.bytes(event, isJournal: isJournal))
    }

    /// Before the process ends: waits a second at most until what was logged is written.
    package static func flush() { writer.flush(within: .seconds(1)) }

    private static func bytes(_ event: WitnessEvent, isJournal: Bool) -> [UInt8] {
        let line = event.line
        let priority = !isJournal ? "" : line.hasPrefix("error") ? "<3>" : "<6>"
        return Array("\(priority)reveille-witness \(line)\n".utf8)
    }
}
