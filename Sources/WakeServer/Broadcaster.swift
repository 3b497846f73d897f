import Dispatch
import Synchronization
import WakeFiles
import WakeHTTP
import WakeModel

/// Sends one wake-up to everyone, and remembers for which sequence, so that a repeated command
/// does not wake everybody again.
final class Broadcaster: Sendable {
    enum Outcome: Equatable, Sendable {
        case started(sequence: UInt64, streams: Int)
        /// The feed has nothing newer than the last broadcast.
        case notNewer
        /// The state file could not be written: nothing was sent.
        case stateUnwritable
    }

    private let wakes: StreamHub
    private let sequence: @Sendable () -> UInt64
    private let stateFile: String
    private let log: Log
    private let last: Mutex<UInt64?>
    private let queue = DispatchQueue(label: "broadcaster")
    let broadcasts = Atomic<Int>(0)
    let wakeUps = Atomic<Int>(0)

    /// - Parameter stateFile: one line, the sequence of the last broadcast; nothing about people.
    init(
        wakes: StreamHub, sequence: @escaping @Sendable () -> UInt64, stateFile: String, log: Log
    ) {
        self.wakes = wakes
        self.sequence = sequence
        self.stateFile = stateFile
        self.log = log
        last = Mutex(BroadcastState.read(stateFile))
    }

    /// The sequence of the last broadcast; nil before the first.
    var lastSequence: UInt64? { last.withLock { $0 } }

    /// Any thread; returns at once. The state is flushed to disk first, on a thread of its own: the
    /// event loop must not wait for a disk.
    /// - Parameters:
    ///   - force: broadcast although the feed has nothing newer.
    ///   - report: told once it has been done or refused.
    func broadcast(force: Bool, report: @escaping @Sendable (Outcome) -> Void) {
        queue.async { report(self.broadcastNow(force: force)) }
    }

    /// On the queue: one broadcast at a time.
    private func broadcastNow(force: Bool) -> Outcome {
        let sequence = sequence()
        if !force, sequence <= lastSequence ?? 0 { return .notNewer }
        guard BroadcastState.write(sequence, to: stateFile) else { return .stateUnwritable }
        last.withLock { $0 = sequence }
        log(.broadcastStarted(sequence: sequence))
        let streams = wakes.count
        wakes.publish(WakeEvent(sequence: sequence).encode())
        broadcasts.add(1, ordering: .relaxed)
        wakeUps.add(streams, ordering: .relaxed)
        log(.broadcastEnded(sequence: sequence, streams: streams))
        return .started(sequence: sequence, streams: streams)
    }
}

/// The broadcaster's state on disk: `sequence=N`.
enum BroadcastState {
    private static let name = "sequence="

    static func read(_ path: String) -> UInt64? {
        guard let bytes = try? Files.read(path, limit: 64) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasPrefix(name), text.hasSuffix("\n") else { return nil }
        return UInt64(text.dropFirst(name.count).dropLast())
    }

    static func write(_ sequence: UInt64, to path: String) -> Bool {
        let line = Array("\(name)\(sequence)\n".utf8)
        do {
            try Files.replace(path, with: line.span)
            return true
        } catch {
            return false
        }
    }
}
