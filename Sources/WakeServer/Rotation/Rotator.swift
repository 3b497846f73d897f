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
        /// The number of registrations for everybody, once it is written down.
        fileprivate(set) var told: Int?
        /// Whether the last attempt at a rotation failed; one that the end of the service stopped
        /// has not.
        var isFailing: Bool {
            if case .failed(let failure) = last { failure != .stopped } else { false }
        }
        fileprivate var saved = SavedAge()
        /// Whether the database is being rewritten, which a rotation put off.
        fileprivate(set) var isCompacting = false
        fileprivate var nextSurvey = ContinuousClock.now
        fileprivate var retries = RotationRetries()

        fileprivate var mayRotate: Bool { schedule.isDue && retries.mayRotate(.now) }
        fileprivate var mayCompact: Bool {
            schedule.record.owesCompaction && retries.mayCompact(.now)
        }
    }

    private let store: Store
    private let file: StateFile<RotationRecord>
    private let log: Log
    private let state: Mutex<State>
    /// Writing blocks: never on a thread that others share.
    private let queue = DispatchQueue(label: "rotation-record")

    private static let surveyInterval = Duration.seconds(60)

    init(store: Store, file: StateFile<RotationRecord>, interval: Int, log: Log) {
        self.store = store
        self.file = file
        self.log = log
        let schedule = file.schedule(
            interval: interval, generation: store.generationNumber, log: log)
        state = Mutex(State(schedule: schedule, told: schedule.record.told))
    }

    private static var seconds: Int { Int(SystemClock.monotonicMilliseconds / 1000) }

    /// For status, with the age as of now.
    var now: State {
        state.withLock { state in
            state.schedule.advance(to: Self.seconds)
            return state
        }
    }

    /// Asks for a rotation at the next opportunity. Survives a restart once it is written.
    func ask() {
        state.withLock { state in
            state.schedule.ask()
            state.retries.asked()
        }
    }

    /// Does what is due. Called about once a second, by one task, while no run goes on.
    func rotateIfDue() async {
        guard await isDue() else { return }
        if now.mayRotate { await rotate() } else { await compact() }
    }

    /// Whether a rotation or a compaction is due; called as `rotateIfDue`, or while a run waits.
    func isDue() async -> Bool {
        let now = ContinuousClock.now
        if state.withLock({ $0.nextSurvey <= now }) {
            state.withLock { $0.nextSurvey = now + Self.surveyInterval }
            _ = await store.survey()
        }
        let state = self.now
        return state.mayRotate || state.mayCompact
    }

    /// Counts the time, and writes it down now and then. Called once a second, whatever goes on.
    func tick() async {
        _ = now
        if state.withLock({ $0.saved.isDue(at: Self.seconds) }) { await write() }
    }

    /// A broadcast has read every row, this number of them.
    func tell(rows: Int) async {
        var random = SystemRandomNumberGenerator()
        state.withLock { $0.schedule.tell(rows: rows, using: &random) }
        await write()
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
                state.retries.compacted(.now)
            case .failed:
                state.failures += 1
                state.retries.rotationFailed(.now)
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
        state.withLock { $0.isCompacting = true }
        let compaction = await withTaskCancellationHandler {
            await store.compact()
        } onCancel: {
            store.stopRotation()
        }
        state.withLock { state in
            state.isCompacting = false
            if compaction.isDone { state.schedule.compacted() }
            state.retries.compacted(.now)
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
        case .done, .stopped: break
        case .noRoom(let needed, let free): log(.compactionPutOff(needed: needed, free: free))
        case .failed: log(.compactionFailed)
        }
    }

    private func write() async {
        let isWritten = await queue.result { [self] in
            // Read here, so that writers cannot overtake one another.
            let record = state.withLock { state in
                state.saved.write(at: Self.seconds)
                return state.schedule.record
            }
            guard (try? file.write(record)) != nil else { return false }
            // Not before: after a crash it must not be drawn again.
            state.withLock { $0.told = record.told }
            return true
        }
        if !isWritten { log(.rotationUnwritable) }
    }
}

/// When a rotation that failed, and a compaction that found no room, are tried again: neither puts
/// off the other, or what was asked for meanwhile.
struct RotationRetries {
    static let delay = Duration.seconds(600)
    private var rotation: ContinuousClock.Instant?
    private var compaction: ContinuousClock.Instant?

    func mayRotate(_ now: ContinuousClock.Instant) -> Bool { rotation.map { $0 <= now } ?? true }
    func mayCompact(_ now: ContinuousClock.Instant) -> Bool { compaction.map { $0 <= now } ?? true }

    mutating func asked() { rotation = nil }
    mutating func rotationFailed(_ now: ContinuousClock.Instant) { rotation = now + Self.delay }
    mutating func compacted(_ now: ContinuousClock.Instant) { compaction = now + Self.delay }
}

/// When the age is written down: after one second, two, four and so on, then every ten minutes. So
/// whatever kills the service however often, at least half of the time that it ran counts.
struct SavedAge {
    private static let longest = 600
    private var next: Int?
    private var interval = 1

    mutating func isDue(at second: Int) -> Bool {
        guard let next else {
            self.next = second + interval
            return false
        }
        return second >= next
    }

    mutating func write(at second: Int) {
        interval = min(2 * interval, Self.longest)
        next = second + interval
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
        rotated(to: report.generation, isCompact: report.compaction.isDone)
    }
}

extension CompactionOutcome {
    /// nil when it was not done.
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
