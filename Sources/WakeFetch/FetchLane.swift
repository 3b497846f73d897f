import Synchronization

/// The mailbox between tasks and the fetch thread of one purpose. The thread is started by the
/// first fetch and ends, with its connections, when there was none for a while.
final class FetchLane: Sendable {
    /// What a task asks of the thread.
    enum Command: Sendable {
        case start(FetchJob)
        case cancel(UInt64)
    }

    private struct State {
        var commands: [Command] = []
        /// There while a thread can be woken.
        var waker: CurlWaker?
        /// Whether a thread takes commands.
        var isServed = false
        /// Those that serve or still free what they had.
        var threads = 0
        var isClosed = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let settings: FetchSettings

    init(settings: FetchSettings) {
        self.settings = settings
    }

    // MARK: From tasks

    func start(_ job: FetchJob) {
        let refusal: FetchError? = state.withLock { state in
            if state.isClosed { return .closed }
            if !state.isServed {
                guard startThread() else { return .outOfResources }
                state.isServed = true
                state.threads += 1
            }
            Self.post(.start(job), &state)
            return nil
        }
        if let refusal { job.finish(.failure(refusal)) }
    }

    func cancel(_ id: UInt64) {
        state.withLock { state in
            guard state.isServed else { return }
            Self.post(.cancel(id), &state)
        }
    }

    /// Fetches that run end as `closed`, later ones are refused as such.
    func beginClosing() {
        state.withLock { state in
            state.isClosed = true
            Self.wake(state)
        }
    }

    /// Returns when the thread has let go of everything.
    func close() async {
        beginClosing()
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.threads > 0 { state.closers.append(continuation) }
                return state.threads == 0
            }
            if isOver { continuation.resume() }
        }
    }

    private func startThread() -> Bool {
        FetchThread.start { [self] in
            FetchLoop(settings: settings, lane: self).run()
            threadEnded()
        }
    }

    private static func post(_ command: Command, _ state: inout State) {
        // Whoever posted the first of them has woken the thread.
        let isFirst = state.commands.isEmpty
        state.commands.append(command)
        if isFirst { wake(state) }
    }

    /// Under the lock, so that the multi handle cannot go away meanwhile.
    private static func wake(_ state: State) {
        guard let waker = state.waker else { return }
        waker.wake()
    }

    // MARK: From the thread

    /// From now on, and until `retire`, the thread can be woken.
    func attach(_ waker: CurlWaker) {
        state.withLock { $0.waker = waker }
    }

    func take() -> (commands: [Command], isClosed: Bool) {
        state.withLock { state in
            defer { state.commands = [] }
            return (state.commands, state.isClosed)
        }
    }

    /// Whether the thread may end: nothing came meanwhile. After true nobody wakes it any more;
    /// the next fetch gets a new thread, even while this one still frees its connections.
    func retire() -> Bool {
        state.withLock { state in
            guard state.commands.isEmpty else { return false }
            state.waker = nil
            state.isServed = false
            return true
        }
    }

    /// The thread has freed everything.
    private func threadEnded() {
        let closers = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }
}
