import Dispatch
import Synchronization
import WakeFiles
import WakeHTTP
import WakeModel
import WakePush
import WakeStore

/// Sends one wake-up to everyone, and remembers for which sequence, so that a repeated command
/// does not wake everybody again. Event streams are told at once; the push services get a round
/// of their own, one at a time.
final class Broadcaster: Sendable {
    enum Outcome: Equatable, Sendable {
        /// `round` is the round of pushes that has begun or will; 0 when there is no gateway.
        case started(sequence: UInt64, streams: Int, round: Int)
        /// The feed has nothing newer than the last broadcast.
        case notNewer
        /// The state file could not be written: nothing was sent.
        case stateUnwritable
    }

    private struct State {
        var lastSequence: UInt64?
        /// Rounds asked for so far.
        var asked = 0
        var report: BroadcastReport?
        /// Of all rounds that have ended.
        var ended = BroadcastReport()
    }

    private let wakes: StreamHub
    private let sequence: @Sendable () -> UInt64
    private let store: Store
    private let gateways: [any Gateway]
    private let stateFile: String
    private let log: Log
    private let state: Mutex<State>
    /// Rounds to do; those asked for while one is running become one.
    private let rounds: AsyncStream<Void>
    private let asking: AsyncStream<Void>.Continuation
    private let queue = DispatchQueue(label: "broadcaster")
    let broadcasts = Atomic<Int>(0)
    let streamWakeUps = Atomic<Int>(0)

    /// Seconds a push service keeps a wake-up for a device that is off: about until the next.
    private static let lifetime = 7200

    /// - Parameter stateFile: one line, the sequence of the last broadcast; nothing about people.
    init(
        wakes: StreamHub, sequence: @escaping @Sendable () -> UInt64, store: Store,
        gateways: [any Gateway], stateFile: String, log: Log
    ) {
        self.wakes = wakes
        self.sequence = sequence
        self.store = store
        self.gateways = gateways
        self.stateFile = stateFile
        self.log = log
        state = Mutex(State(lastSequence: BroadcastState.read(stateFile)))
        (rounds, asking) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The sequence of the last broadcast; nil before the first.
    var lastSequence: UInt64? { state.withLock { $0.lastSequence } }

    /// The round that runs, or the last one; nil before the first.
    var report: BroadcastReport? { state.withLock { $0.report } }

    /// Sums over all rounds of this run of the service.
    var totals: BroadcastReport {
        state.withLock { state in
            var totals = state.ended
            if let report = state.report, report.isRunning { totals.add(report) }
            return totals
        }
    }

    /// Any thread; returns at once. The state is flushed to disk first, on a thread of its own: the
    /// event loop must not wait for a disk.
    /// - Parameters:
    ///   - force: broadcast although the feed has nothing newer.
    ///   - report: told once it has been done or refused.
    func broadcast(force: Bool, report: @escaping @Sendable (Outcome) -> Void) {
        queue.async { report(self.broadcastNow(force: force)) }
    }

    /// Does the rounds that are asked for until the task is cancelled.
    func run() async {
        for await _ in rounds {
            var report = BroadcastReport()
            (report.round, report.sequence) = state.withLock { ($0.asked, $0.lastSequence ?? 0) }
            let round = BroadcastRound(
                report, store: store, gateways: gateways, lifetime: Self.lifetime, log: log
            ) { report in
                self.state.withLock { $0.report = report }
            }
            report = await round.run()
            state.withLock { $0.ended.add(report) }
            log(.broadcastEnded(BroadcastSummary(report)))
        }
    }

    /// On the queue: one broadcast at a time.
    private func broadcastNow(force: Bool) -> Outcome {
        let sequence = sequence()
        if !force, sequence <= lastSequence ?? 0 { return .notNewer }
        guard BroadcastState.write(sequence, to: stateFile) else { return .stateUnwritable }
        let round = state.withLock { state in
            state.lastSequence = sequence
            if !gateways.isEmpty { state.asked += 1 }
            return state.asked
        }
        let streams = wakes.count
        log(.broadcastStarted(sequence: sequence, streams: streams))
        wakes.publish(WakeEvent(sequence: sequence).encode())
        broadcasts.add(1, ordering: .relaxed)
        streamWakeUps.add(streams, ordering: .relaxed)
        if !gateways.isEmpty { asking.yield() }
        return .started(sequence: sequence, streams: streams, round: round)
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
