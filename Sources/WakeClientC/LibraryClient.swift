import Reveille
import Synchronization
import WakeFeed
import WakeSystem

/// One open client of the library: a `WakeClient`, its tasks, and the queue to the app's callbacks.
final class LibraryClient: Sendable {
    private struct State {
        var isStarted = false
        var isClosed = false
        /// Work that `close` ends, by a number of its own.
        var tasks: [Int: Task<Void, Never>] = [:]
        var nextTask = 0
    }

    /// The result of a task for the thread that waits for it.
    private final class Outcome<Value: Sendable>: Sendable {
        private let value = Mutex<Result<Value, ClientError>?>(nil)
        private let hasEnded = Mutex(false)

        var result: Result<Value, ClientError>? { value.withLock { $0 } }
        var isOver: Bool { hasEnded.withLock { $0 } }

        func set(_ result: Result<Value, ClientError>) { value.withLock { $0 = result } }

        func end() { hasEnded.withLock { $0 = true } }
    }

    /// The client's handler, which does not keep it.
    private struct Handler: MatchHandler {
        let queue: CallbackQueue

        func didFind(_ match: Match) async throws { try await queue.deliver(match) }

        func didWarn(_ warning: Warning) async { await queue.deliver(warning) }
    }

    typealias Work<Value> = @Sendable (WakeClient) async throws(ClientError) -> Value

    private let client: WakeClient
    private let queue: CallbackQueue
    private let state = Mutex(State())
    let secrets: SecretDirectory

    init(_ configuration: ClientConfiguration, _ callbacks: AppCallbacks) throws(ClientError) {
        queue = CallbackQueue(callbacks)
        secrets = SecretDirectory(stateDirectory: configuration.stateDirectory)
        client = try WakeClient(configuration, secrets: secrets, handler: Handler(queue: queue))
    }

    // MARK: Running

    /// Runs it, and calls back on a thread of its own.
    func start() throws(CallFault) {
        try begin()
        let queue = queue
        let listener = Semaphore()
        do throws(SystemError) {
            try SystemThread.start {
                _ = queue.addListener(listener)
                while queue.dispatch() { listener.wait() }
            }
        } catch {
            state.withLock { $0.isStarted = false }
            throw .system
        }
        run()
    }

    /// Runs it.
    /// - Returns: the descriptor that is readable while `dispatch` has something to do.
    func startPolled() throws(CallFault) -> Int32 {
        try begin()
        let descriptor: EventDescriptor
        do throws(SystemError) {
            descriptor = try EventDescriptor()
        } catch {
            state.withLock { $0.isStarted = false }
            throw .system
        }
        queue.setDescriptor(descriptor)
        run()
        return descriptor.number
    }

    private func begin() throws(CallFault) {
        let wasStarted = state.withLock { state in
            defer { state.isStarted = true }
            return state.isStarted
        }
        if wasStarted { throw .started }
    }

    private func run() {
        let (client, queue) = (client, queue)
        start {
            var failure: ClientError?
            do throws(ClientError) {
                // What was left for later, or killed in a callback, comes again at once.
                try await client.retryDeliveries()
                try await client.run()
            } catch { failure = error }
            if !Task.isCancelled { queue.publish(.ended(failure)) }
        }
        start {
            var last: ClientStatus?
            while !Task.isCancelled {
                let status = await client.status
                if last?.differs(from: status) ?? true {
                    queue.publish(.status(status))
                    last = status
                }
                await client.statusChange.wait()
            }
        }
    }

    /// Calls back for what waits.
    func dispatch() throws(CallFault) {
        try refuseInCallback()
        guard queue.isPolled else { throw .notPolled }
        _ = queue.dispatch()
    }

    /// Ends it: no callback runs when this has returned.
    func close() {
        queue.close()
        let tasks = state.withLock { state in
            state.isClosed = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        let done = Semaphore()
        Task {
            for task in tasks { await task.value }
            done.post()
        }
        done.wait()
    }

    func refuseInCallback() throws(CallFault) {
        if queue.isInCallback { throw .inCallback }
    }

    // MARK: Calls

    /// Starts a task that `close` ends and waits for.
    /// - Returns: the task and its number; nil once closed.
    @discardableResult
    private func start(
        _ body: @escaping @Sendable () async -> Void
    ) -> (number: Int, task: Task<Void, Never>)? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            let task = Task { await body() }
            state.nextTask += 1
            state.tasks[state.nextTask] = task
            return (state.nextTask, task)
        }
    }

    /// Does something with the client while the calling thread waits.
    /// - Parameter calling: calls back on this thread meanwhile.
    func wait<Value: Sendable>(
        calling: Bool = false, for work: @escaping Work<Value>
    ) throws(CallFault) -> Value {
        let client = client
        let outcome = Outcome<Value>()
        let changed = Semaphore()
        let started = start {
            do throws(ClientError) {
                outcome.set(.success(try await work(client)))
            } catch { outcome.set(.failure(error)) }
        }
        guard let (number, task) = started else { throw .closed }
        Task {
            // Then it keeps the client no longer, whose end gives the state directory free.
            await task.value
            outcome.end()
            changed.post()
        }
        let listener = calling ? queue.addListener(changed) : nil
        while !outcome.isOver {
            changed.wait()
            if calling { _ = queue.dispatch() }
        }
        if let listener {
            queue.removeListener(listener)
            _ = queue.dispatch()
        }
        state.withLock { $0.tasks[number] = nil }
        switch outcome.result {
        case .success(let value): return value
        case .failure(let error): throw CallFault(error)
        case nil: throw .closed
        }
    }

    func wake(_ reason: SyncReason) { client.wake(reason) }

    /// Checks, and delivers all that waits.
    func synchronize(
        _ reason: SyncReason
    ) throws(CallFault) -> Result<SyncOutcome, ClientError> {
        try refuseInCallback()
        let isCalledElsewhere = state.withLock { $0.isStarted } && !queue.isPolled
        return try wait(calling: !isCalledElsewhere) { client throws(ClientError) in
            let outcome: Result<SyncOutcome, ClientError>
            do throws(ClientError) {
                outcome = .success(try await client.check(reason))
            } catch { outcome = .failure(error) }
            // Delivered whatever the check came to; its own failure is reported first.
            do throws(ClientError) {
                try await client.retryDeliveries()
                try await client.deliver()
            } catch {
                if case .success = outcome { throw error }
            }
            return outcome
        }
    }

    /// Takes the registration step that is due, apart from the requests of a check.
    func reconcile() throws(CallFault) {
        try refuseInCallback()
        try wait { client throws(ClientError) in
            if let wait = try await client.registrationWait() { try? await Task.sleep(for: wait) }
            guard !Task.isCancelled else { throw .cancelled }
            try await client.reconcileApart()
        }
    }

    func acknowledge(_ id: MatchID) throws(CallFault) {
        if queue.acknowledgeCurrent(id) { return }
        let isKnown = try wait { client throws(ClientError) in try await client.acknowledge(id) }
        guard isKnown else { throw .unknownMatch }
    }
}
