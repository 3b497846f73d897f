import Dispatch
public import FoundationEssentials
import Reveille
import Synchronization
import WakeSystem

/// Time that passes only when nothing is left to do: weeks in milliseconds, the same every run.
///
/// The client, its network and the body of `TestWorld.run` are executed one after the other, in
/// the order in which they became ready. When none is, the clock jumps to the next that sleeps. It
/// stands still outside `TestWorld.run`, and while a handler, a `DataSource`, `LocalSecrets` or the
/// body of a loop over events works, on whatever thread or actor.
public final class SimulatedTime: Sendable {
    private enum Job {
        case isolated(UnownedJob)
        case plain(UnownedJob)
    }

    private struct Sleeper {
        let id: UInt64
        let wake: Duration
        let continuation: CheckedContinuation<Void, Never>
        /// In a call of the app, which does not keep the clock meanwhile.
        let isInAppCall: Bool
    }

    private struct State {
        var now = Duration.zero
        var jobs: [Job] = []
        var sleepers: [Sleeper] = []
        var lastID: UInt64 = 0
        var random: SeededRandom
        var wallOffset: Int64 = 1_800_000_000
        var interruption: Interruption?
        var observers: [UInt64: Observer] = [:]
        /// Callers of `drive`; the clock goes while there are any.
        var drivers = 0
        /// Calls of the app that are under way and do not sleep on this clock.
        var busyCalls = 0
        /// A thread executes jobs as they come.
        var isDraining = false
        var stepsDone = 0

        mutating func takeSleeper() -> Sleeper? {
            let next = sleepers.indices.min { left, right in
                (sleepers[left].wake, sleepers[left].id)
                    < (sleepers[right].wake, sleepers[right].id)
            }
            guard let next else { return nil }
            let sleeper = sleepers.remove(at: next)
            now = max(now, sleeper.wake)
            if sleeper.isInAppCall { busyCalls += 1 }
            return sleeper
        }
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
    /// Executes jobs as they come; nil when only `run` executes them.
    private let queue: DispatchQueue?

    /// - Parameter isStepped: only `run` executes anything, and on the thread that calls it.
    package init(seed: UInt64 = 1, isStepped: Bool = true) {
        state = Mutex(State(random: SeededRandom(seed: seed)))
        queue = isStepped ? nil : DispatchQueue(label: "reveille.testing")
        serial.connect { [weak self] job in self?.add(.isolated(job)) }
        tasks.connect { [weak self] job in self?.add(.plain(job)) }
    }

    /// What actors of the simulated world run on.
    package var executor: any SerialExecutor { serial }
    /// What tasks of the simulated world run on.
    package let tasks = SimulatedTaskExecutor()

    /// The time since the world began.
    public var now: Duration { state.withLock { $0.now } }

    /// Seconds since 1970, by a clock that `setWall` can move.
    package var wall: Int64 { state.withLock { $0.wallOffset + $0.now.components.seconds } }

    package func setWall(by seconds: Int64) { state.withLock { $0.wallOffset += seconds } }

    /// The date and time of day that the device's clock shows. Setting it is setting that clock:
    /// no time passes.
    public var date: Date {
        get { Date(seconds: wall) }
        set { setWall(by: newValue.wholeSeconds - wall) }
    }

    /// Puts the device to sleep for `duration`: clocks go on, what waits waits for as long as
    /// before, and the client learns of it as the kernel would tell, unless `isTold` is false.
    public func suspend(for duration: Duration, isTold: Bool = true) {
        let observers = state.withLock { state in
            state.now += duration
            state.sleepers = state.sleepers.map { sleeper in
                Sleeper(
                    id: sleeper.id, wake: sleeper.wake + duration,
                    continuation: sleeper.continuation, isInAppCall: sleeper.isInAppCall)
            }
            return state.observers.sorted { $0.key < $1.key }.map(\.value)
        }
        if isTold { for observer in observers { observer.resumed() } }
    }

    /// Calls back after each suspension until the result is called.
    package func observe(_ resumed: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let id = state.withLock { state in
            state.lastID += 1
            state.observers[state.lastID] = Observer(resumed: resumed)
            return state.lastID
        }
        return { [weak self] in _ = self?.state.withLock { $0.observers.removeValue(forKey: id) } }
    }

    /// Has `act` called once, after so many more jobs; a job ends wherever something is awaited.
    package func interrupt(after jobs: Int, _ act: @escaping @Sendable () -> Void) {
        state.withLock { $0.interruption = Interruption(jobsBefore: jobs, act: act) }
    }

    /// Whether an interruption is still to come.
    package var isInterruptionDue: Bool { state.withLock { $0.interruption != nil } }

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

    package func random() -> UInt64 { state.withLock { $0.random.next() } }

    package func randomUnit() -> Double { state.withLock { $0.random.unit() } }

    package func randomBytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: random() >> 24) }
    }

    /// Waits for `duration` of this clock, less when the task is cancelled. For the body of
    /// `TestWorld.run`, handlers and sources; not for the body of a loop over events, which keeps
    /// the clock.
    public func sleep(for duration: Duration) async { await sleep(duration) }

    /// Returns early when the task is cancelled.
    package func sleep(_ duration: Duration) async {
        let isInAppCall = AppCaller.isInCall
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
                        Sleeper(
                            id: id, wake: wake, continuation: continuation,
                            isInAppCall: isInAppCall))
                    if isInAppCall { state.busyCalls -= 1 }
                    return false
                }
                if isOver { continuation.resume() } else { wakeDrain() }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                    return nil
                }
                if isInAppCall { state.busyCalls += 1 }
                return state.sleepers.remove(at: index)
            }
            sleeper?.continuation.resume()
        }
    }

    /// Runs `body` to its end, with all the time it takes.
    @discardableResult
    package func run<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws
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
    package struct Stuck: Error {}

    private func add(_ job: Job) {
        state.withLock { $0.jobs.append(job) }
        wakeDrain()
    }

    private func step() -> Bool {
        interruptIfDue()
        let job = state.withLock { state in state.jobs.isEmpty ? nil : state.jobs.removeFirst() }
        guard let job else { return wakeNext() }
        execute(job)
        return true
    }

    private func execute(_ job: Job) {
        switch job {
        case .isolated(let job):
            unsafe job.runSynchronously(on: serial.asUnownedSerialExecutor())
        case .plain(let job):
            unsafe job.runSynchronously(on: tasks.asUnownedTaskExecutor())
        }
    }

    private func wakeNext() -> Bool {
        let sleeper = state.withLock { $0.takeSleeper() }
        sleeper?.continuation.resume()
        return sleeper != nil
    }

    // MARK: Driving

    /// Runs `body` to its end while the clock goes as it must.
    /// - Throws: what `body` throws, or `TestWorld.Stuck`.
    func drive<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let (outcome, ended) = (Outcome<Result>(), AsyncEvent())
        state.withLock { $0.drivers += 1 }
        defer { state.withLock { $0.drivers -= 1 } }
        let task = Task(executorPreference: tasks) {
            do {
                outcome.set(.success(try await body()))
            } catch {
                outcome.set(.failure(error))
            }
            ended.signal()
        }
        while true {
            let before = state.withLock { $0.stepsDone }
            await ended.wait { try? await Task.sleep(for: TestWorld.patience) }
            if let result = outcome.value { return try result.get() }
            let isStuck = state.withLock { $0.stepsDone } == before
            if Task.isCancelled || isStuck { task.cancel() }
            if isStuck, !Task.isCancelled { throw TestWorld.Stuck() }
            if Task.isCancelled {
                await task.value
                ended.signal()
            }
        }
    }

    /// Notes that the app began, or ended, to work for the client.
    func noteAppWork(_ change: Int) {
        state.withLock { $0.busyCalls += change }
        wakeDrain()
    }

    private func wakeDrain() {
        guard let queue else { return }
        let begins = state.withLock { state in
            defer { state.isDraining = true }
            return !state.isDraining
        }
        if begins { queue.async { self.drain() } }
    }

    private enum Step {
        case execute(Job)
        case wake(Sleeper)
        case rest
    }

    private func drain() {
        while true {
            let step = state.withLock { state -> Step in
                state.stepsDone += 1
                if !state.jobs.isEmpty { return .execute(state.jobs.removeFirst()) }
                if state.drivers > 0, state.busyCalls <= 0, let sleeper = state.takeSleeper() {
                    return .wake(sleeper)
                }
                state.isDraining = false
                return .rest
            }
            switch step {
            case .execute(let job): execute(job)
            case .wake(let sleeper): sleeper.continuation.resume()
            case .rest: return
            }
        }
    }
}

private final class Outcome<Value: Sendable>: Sendable {
    private let box = Mutex<Result<Value, any Error>?>(nil)

    func set(_ result: Result<Value, any Error>) { box.withLock { $0 = result } }

    var value: Result<Value, any Error>? { box.withLock { $0 } }
}
