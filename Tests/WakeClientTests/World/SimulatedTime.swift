import Synchronization
import TestSupport

/// Time that passes only when nothing is left to do: weeks in milliseconds, the same every run.
///
/// Everything runs on the one thread that calls `run`: jobs in the order they came, and when there
/// are none, the clock jumps to the next sleeper.
final class SimulatedTime: Sendable {
    private enum Job {
        case isolated(UnownedJob)
        case plain(UnownedJob)
    }

    private struct Sleeper {
        let id: UInt64
        let wake: Duration
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now = Duration.zero
        var jobs: [Job] = []
        var sleepers: [Sleeper] = []
        var lastID: UInt64 = 0
        var random: SplitMix64
        var wallOffset: Int64 = 1_800_000_000
        var interruption: Interruption?
        var observers: [UInt64: Observer] = [:]
    }

    /// A struct: a bare closure in a `Mutex` is wrapped once more by every `withLock`.
    private struct Observer {
        let resumed: @Sendable () -> Void
    }

    /// What happens between two jobs.
    private struct Interruption {
        var jobsBefore: Int
        let act: @Sendable () -> Void
    }

    private let state: Mutex<State>
    private let serial = SimulatedSerialExecutor()

    init(seed: UInt64 = 1) {
        state = Mutex(State(random: SplitMix64(seed: seed)))
        serial.connect { [weak self] job in self?.add(.isolated(job)) }
        tasks.connect { [weak self] job in self?.add(.plain(job)) }
    }

    /// What actors of the simulated world run on.
    var executor: any SerialExecutor { serial }
    /// What tasks of the simulated world run on.
    let tasks = SimulatedTaskExecutor()

    /// Since the world began.
    var now: Duration { state.withLock { $0.now } }

    /// Seconds since 1970, by a clock that `setWall` can move.
    var wall: Int64 { state.withLock { $0.wallOffset + $0.now.components.seconds } }

    func setWall(by seconds: Int64) { state.withLock { $0.wallOffset += seconds } }

    /// The machine sleeps: clocks go on, and a task that sleeps on it sleeps for as long as before.
    /// - Parameter isTold: observers learn of it.
    func suspend(for duration: Duration, isTold: Bool = true) {
        let observers = state.withLock { state in
            state.now += duration
            state.sleepers = state.sleepers.map { sleeper in
                Sleeper(
                    id: sleeper.id, wake: sleeper.wake + duration,
                    continuation: sleeper.continuation)
            }
            return state.observers.sorted { $0.key < $1.key }.map(\.value)
        }
        if isTold { for observer in observers { observer.resumed() } }
    }

    /// Calls back after each suspension until the result is called.
    func observe(_ resumed: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let id = state.withLock { state in
            state.lastID += 1
            state.observers[state.lastID] = Observer(resumed: resumed)
            return state.lastID
        }
        return { [weak self] in _ = self?.state.withLock { $0.observers.removeValue(forKey: id) } }
    }

    /// Has `act` called once, after so many more jobs; a job ends wherever something is awaited.
    func interrupt(after jobs: Int, _ act: @escaping @Sendable () -> Void) {
        state.withLock { $0.interruption = Interruption(jobsBefore: jobs, act: act) }
    }

    /// Whether an interruption is still to come.
    var isInterruptionDue: Bool { state.withLock { $0.interruption != nil } }

    private func interruptIfDue() {
        let act = state.withLock { state -> (@Sendable () -> Void)? in
            guard let interruption = state.interruption else { return nil }
            state.interruption?.jobsBefore -= 1
            guard interruption.jobsBefore <= 0 else { return nil }
            state.interruption = nil
            return interruption.act
        }
        act?()
    }

    func random() -> UInt64 { state.withLock { $0.random.next() } }

    func randomUnit() -> Double { state.withLock { $0.random.unit() } }

    func randomBytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: random() >> 24) }
    }

    /// Returns early when the task is cancelled.
    func sleep(_ duration: Duration) async {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if Task.isCancelled { return true }
                    let wake = state.now + max(duration, .zero)
                    state.sleepers.append(
                        Sleeper(id: id, wake: wake, continuation: continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                    return nil
                }
                return state.sleepers.remove(at: index)
            }
            sleeper?.continuation.resume()
        }
    }

    /// Runs `body` to its end, with all the time it takes.
    @discardableResult
    func run<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws
        -> Result
    {
        return try withExtendedLifetime(self) {
            let outcome = Outcome<Result>()
            Task(executorPreference: tasks) {
                do {
                    outcome.set(.success(try await body()))
                } catch {
                    outcome.set(.failure(error))
                }
            }
            while true {
                if let result = outcome.value { return try result.get() }
                guard step() else { throw Stuck() }
            }
        }
    }

    /// Nobody has anything to do, and nobody sleeps.
    struct Stuck: Error {}

    private func add(_ job: Job) {
        state.withLock { $0.jobs.append(job) }
    }

    private func step() -> Bool {
        interruptIfDue()
        let job = state.withLock { state in state.jobs.isEmpty ? nil : state.jobs.removeFirst() }
        switch job {
        case .isolated(let job):
            unsafe job.runSynchronously(on: serial.asUnownedSerialExecutor())
            return true
        case .plain(let job):
            unsafe job.runSynchronously(on: tasks.asUnownedTaskExecutor())
            return true
        case nil: return wakeNext()
        }
    }

    private func wakeNext() -> Bool {
        let sleeper = state.withLock { state -> Sleeper? in
            let next = state.sleepers.indices.min { left, right in
                let (a, b) = (state.sleepers[left], state.sleepers[right])
                return (a.wake, a.id) < (b.wake, b.id)
            }
            guard let next else { return nil }
            let sleeper = state.sleepers.remove(at: next)
            state.now = max(state.now, sleeper.wake)
            return sleeper
        }
        sleeper?.continuation.resume()
        return sleeper != nil
    }
}

private final class Outcome<Value: Sendable>: Sendable {
    private let box = Mutex<Result<Value, any Error>?>(nil)

    func set(_ result: Result<Value, any Error>) { box.withLock { $0 = result } }

    var value: Result<Value, any Error>? { box.withLock { $0 } }
}

/// A struct: a bare closure in a `Mutex` is wrapped once more by every `withLock`.
private struct JobSink {
    var run: @Sendable (UnownedJob) -> Void = { _ in }
}

/// Hands jobs of actors on.
private final class SimulatedSerialExecutor: SerialExecutor {
    private let sink = Mutex(JobSink())

    func connect(_ sink: @escaping @Sendable (UnownedJob) -> Void) {
        self.sink.withLock { $0.run = sink }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        sink.withLock { $0.run }(job)
    }
}

/// Hands jobs of tasks on.
final class SimulatedTaskExecutor: TaskExecutor {
    private let sink = Mutex(JobSink())

    func connect(_ sink: @escaping @Sendable (UnownedJob) -> Void) {
        self.sink.withLock { $0.run = sink }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        sink.withLock { $0.run }(job)
    }
}
