import Dispatch
import Synchronization
import WakeModel
import WakeStore
import WakeSystem

/// Rotates the generations when the schedule says so: between two broadcast runs, never within one,
/// which reads both files and must not have one taken away.
final class Rotator: Sendable {
    struct State {
        var schedule: RotationSchedule
        var last: RotationOutcome?
        var rotations = 0
        var failures = 0
        /// The number of registrations for everybody, once it is written down.
        fileprivate(set) var told: Int?
        var isFailing: Bool { if case .failed = last { true } else { false } }
        fileprivate var saved = SavedAge()
        fileprivate var nextSurvey = ContinuousClock.now
        /// When a rotation that failed is tried again, unless it is asked for before.
        fileprivate var retry: ContinuousClock.Instant?

        fileprivate var mayRotate: Bool {
            schedule.isDue && retry.map { $0 <= ContinuousClock.now } ?? true
        }
    }

    private let store: Store
    private let file: StateFile<RotationRecord>
    private let log: Log
    private let state: Mutex<State>
    /// Writing blocks: never on a thread that others share.
    private let queue = DispatchQueue(label: "rotation-record")

    private static let surveyInterval = Duration.seconds(60)
    private static let retryInterval = Duration.seconds(600)

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
            state.retry = nil
        }
    }

    /// Does what is due. Called about once a second, by one task, while no run goes on.
    func rotateIfDue() async {
        if await isDue() { await rotate() }
    }

    /// Whether a rotation is due; called as `rotateIfDue`, or while a run waits.
    func isDue() async -> Bool {
        let now = ContinuousClock.now
        if state.withLock({ $0.nextSurvey <= now }) {
            state.withLock { $0.nextSurvey = now + Self.surveyInterval }
            _ = await store.survey()
        }
        return self.now.mayRotate
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
        let outcome = await store.rotate()
        state.withLock { state in
            state.last = outcome
            switch outcome {
            case .rotated(let report):
                state.rotations += 1
                state.schedule.rotated(to: report.generation)
                state.retry = nil
            case .failed:
                state.failures += 1
                state.retry = .now + Self.retryInterval
            }
        }
        await write()
        switch outcome {
        case .rotated(let report):
            log(
                .rotated(
                    generation: report.generation, dropped: report.dropped,
                    kept: store.counters.previousRows.now,
                    milliseconds: report.milliseconds))
        case .failed(let failure): log(.rotationFailed(failure))
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
