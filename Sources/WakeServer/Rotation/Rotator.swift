import Dispatch
import Synchronization
import WakeModel
import WakePush
package import WakeStore
import WakeSystem

/// Rotates the generations when the schedule says so: between two broadcast runs, never within one,
/// which reads both tables and must not have them exchanged.
final class Rotator: Sendable {
    struct State {
        var schedule: RotationSchedule
        var last: RotationOutcome?
        var rotations = 0
        var failures = 0
        var isRotating = false
        fileprivate var nextWrite = ContinuousClock.now
        fileprivate var nextSurvey = ContinuousClock.now
        fileprivate var notBefore = ContinuousClock.now
    }

    private let store: Store
    private let file: StateFile<RotationRecord>
    private let log: Log
    private let state: Mutex<State>
    /// Writing blocks: never on a thread that others share.
    private let queue = DispatchQueue(label: "rotation-record")

    /// Between two writes of the age when nothing happens: a power cut loses as much of it.
    private static let writeInterval = Duration.seconds(600)
    private static let surveyInterval = Duration.seconds(60)
    private static let retryDelay = Duration.seconds(600)

    init(store: Store, file: StateFile<RotationRecord>, interval: Int, log: Log) {
        self.store = store
        self.file = file
        self.log = log
        let schedule = file.schedule(
            interval: interval, generation: store.generationNumber, log: log)
        state = Mutex(State(schedule: schedule))
    }

    /// For status, with the age as of now.
    var now: State {
        state.withLock { state in
            state.schedule.advance(to: .system())
            return state
        }
    }

    /// Asks for a rotation at the next opportunity. Survives a restart once it is written.
    func ask() {
        state.withLock { state in
            state.schedule.ask()
            state.notBefore = .now
        }
    }

    /// Does what is due. Called about once a second, by one task, while no run goes on.
    func rotateIfDue() async {
        guard await isDue() else { return }
        if now.schedule.isDue { await rotate() } else { await compact() }
    }

    /// Whether a rotation or a compaction is due. What else is due is done; called as
    /// `rotateIfDue`, or while a run waits.
    func isDue() async -> Bool {
        let now = ContinuousClock.now
        if state.withLock({ $0.nextSurvey <= now }) {
            state.withLock { $0.nextSurvey = now + Self.surveyInterval }
            _ = await store.survey()
        }
        let state = self.now
        if state.notBefore <= now, state.schedule.isDue || state.schedule.record.owesCompaction {
            return true
        }
        if state.nextWrite <= now { await write() }
        return false
    }

    func stop() async { await write() }

    private func rotate() async {
        state.withLock { state in
            state.schedule.ask()
            state.isRotating = true
        }
        // Written down before it begins, so that a crash does not leave it half done for long.
        await write()
        let outcome = await withTaskCancellationHandler {
            await store.rotate()
        } onCancel: {
            store.stopRotation()
        }
        state.withLock { state in
            state.last = outcome
            state.isRotating = false
            switch outcome {
            case .rotated(let report):
                state.rotations += 1
                state.schedule.rotated(report)
                if !report.compaction.isDone { state.notBefore = .now + Self.retryDelay }
            case .failed:
                state.failures += 1
                state.notBefore = .now + Self.retryDelay
            }
        }
        await write()
        switch outcome {
        case .rotated(let report):
            log(
                .rotated(
                    generation: report.generation, dropped: report.dropped,
                    kept: store.counters.previousRows.load(ordering: .relaxed),
                    milliseconds: report.compaction.milliseconds ?? 0))
            logFailure(of: report.compaction)
        case .failed(.stopped): break
        case .failed(let failure): log(.rotationFailed(failure))
        }
    }

    private func compact() async {
        let compaction = await store.compact()
        state.withLock { state in
            if compaction.isDone { state.schedule.compacted() }
            state.notBefore = .now + Self.retryDelay
        }
        if case .done(let bytes, let milliseconds) = compaction {
            await write()
            log(.compacted(bytes: bytes, milliseconds: milliseconds))
        } else {
            logFailure(of: compaction)
        }
    }

    private func logFailure(of compaction: CompactionOutcome) {
        switch compaction {
        case .done: break
        case .noRoom(let needed, let free): log(.compactionPutOff(needed: needed, free: free))
        case .failed: log(.compactionFailed)
        }
    }

    private func write() async {
        let record = state.withLock { state in
            state.nextWrite = .now + Self.writeInterval
            return state.schedule.record
        }
        let isWritten = await queue.result { [file] in (try? file.write(record)) != nil }
        if !isWritten { log(.rotationUnwritable) }
    }
}

extension DispatchQueue {
    /// Runs what blocks on this queue.
    func result<Value: Sendable>(of body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            async { continuation.resume(returning: body()) }
        }
    }
}

extension RotationSchedule {
    fileprivate mutating func rotated(_ report: RotationReport) {
        rotated(to: report.generation, isCompact: report.compaction.isDone, now: .system())
    }
}

extension CompactionOutcome {
    /// The time in which nothing else was done; nil when it was not done.
    fileprivate var milliseconds: Int? {
        if case .done(_, let milliseconds) = self { milliseconds } else { nil }
    }

    fileprivate var isDone: Bool { milliseconds != nil }
}

/// Rotations while no service runs: the same store and record, for one command.
package struct OfflineRotation: Sendable {
    private let configuration: Configuration
    private let store: Store
    private let file: StateFile<RotationRecord>
    private var schedule: RotationSchedule

    package init(_ configuration: Configuration, log: Log) throws(StoreOpenError) {
        self.configuration = configuration
        store = try Store(opening: configuration.store)
        file = StateFile(configuration.data + "/rotation")
        schedule = file.schedule(
            interval: configuration.rotationSeconds, generation: store.generationNumber, log: log)
    }

    /// Whether a broadcast was cut short: the service must end it before a rotation.
    package var hasUnfinishedRun: Bool { Files.exists(configuration.data + "/checkpoint") }

    /// - Returns: nil when the files cannot be read.
    package func status() async -> RotationStatus? {
        await store.survey().map { RotationStatus($0, schedule) }
    }

    package mutating func rotate() async -> RotationOutcome {
        schedule.ask()
        try? file.write(schedule.record)
        let outcome = await store.rotate()
        if case .rotated(let report) = outcome {
            schedule.rotated(report)
            try? file.write(schedule.record)
        }
        return outcome
    }

    package func close() async { await store.close() }
}
