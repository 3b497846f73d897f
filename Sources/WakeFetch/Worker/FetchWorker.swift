import Synchronization
import WakeSystem

/// The command queue of one purpose's fetch thread, which starts with a fetch and ends when idle.
final class FetchWorker: Sendable {
    /// What waits for the thread. A fetch is cancelled after it was started, if it is at all.
    struct Commands: Sendable {
        fileprivate(set) var started: [FetchJob] = []
        /// By the fetch's id.
        fileprivate(set) var cancelled: [UInt64] = []

        fileprivate var count: Int { started.count + cancelled.count }
    }

    private struct State {
        var commands = Commands()
        /// Present while a thread can be woken.
        var waker: CurlWaker?
        /// Whether a thread executes commands.
        var isServed = false
        /// Threads that serve or still free their resources.
        var threads = 0
        var isClosed = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let settings: FetchSettings

    init(settings: FetchSettings) { self.settings = settings }

    // MARK: From tasks

    func start(_ job: FetchJob) {
        let refusal: FetchError? = state.withLock { state in
            if state.isClosed { return .closed }
            if !state.isServed {
                guard startThread() else { return .outOfResources }
                state.isServed = true
                state.threads += 1
            }
            Self.post(&state) { $0.started.append(job) }
            return nil
        }
        if let refusal { job.onEnd(.failure(refusal)) }
    }

    func cancel(_ id: UInt64) {
        state.withLock { state in
            guard state.isServed else { return }
            Self.post(&state) { $0.cancelled.append(id) }
        }
    }

    func beginClosing() {
        state.withLock { state in
            state.isClosed = true
            state.waker?.wake()
        }
    }

    /// Returns when the thread has freed everything.
    func close() async {
        beginClosing()
        await quiesce()
    }

    /// Returns when no thread is left, which then has freed everything.
    func quiesce() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.threads > 0 { state.endWaiters.append(continuation) }
                return state.threads == 0
            }
            if isOver { continuation.resume() }
        }
    }

    /// - Returns: false when the system has no thread left.
    private func startThread() -> Bool {
        let body: @Sendable () -> Void = { [self] in
            if let loop = FetchLoop(settings: settings, worker: self) {
                loop.run()
            } else {
                refuseAll()
            }
            threadEnded()
        }
        return (try? SystemThread.start(body)) != nil
    }

    /// The waker is called under the lock, so that the multi handle cannot be freed meanwhile.
    private static func post(_ state: inout State, _ append: (inout Commands) -> Void) {
        append(&state.commands)
        // The first command after an empty queue has woken the thread.
        if state.commands.count == 1 { state.waker?.wake() }
    }

    // MARK: From the thread

    /// Makes the thread wakeable until `detachIfIdle`.
    func attach(_ waker: CurlWaker) { state.withLock { $0.waker = waker } }

    func removeCommands() -> (commands: Commands, isClosed: Bool) {
        state.withLock { state in
            defer { state.commands = Commands() }
            return (state.commands, state.isClosed)
        }
    }

    /// Detaches the thread unless commands wait. After true nothing wakes it; the next fetch gets a
    /// new thread, even while this one still frees its connections.
    func detachIfIdle() -> Bool {
        state.withLock { state in
            guard state.commands.count == 0 else { return false }
            state.waker = nil
            state.isServed = false
            return true
        }
    }

    /// For lack of memory for a multi handle.
    private func refuseAll() {
        repeat {
            for job in removeCommands().commands.started {
                job.onEnd(.failure(.outOfResources))
            }
        } while !detachIfIdle()
    }

    /// Called when the thread has freed everything.
    private func threadEnded() {
        let waiters = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.endWaiters = [] }
            return state.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
