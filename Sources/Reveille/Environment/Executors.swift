internal import Dispatch

/// The serial queue of one client: SQLite and fsync never block the cooperative pool.
final class ClientQueue: SerialExecutor {
    private let queue = DispatchQueue(label: "reveille.client")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

/// The serial queue of one part of the app: code that blocks there keeps nothing else waiting,
/// neither the client nor the cooperative pool, which may have a single thread.
final class AppQueue: TaskExecutor {
    private let queue = DispatchQueue(label: "reveille.app")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Calls one part of the app on an executor of its own.
package struct AppCaller: Sendable {
    /// The task runs the app's code for a client.
    @TaskLocal package static var isInCall = false

    private let executor: any TaskExecutor
    private let noteWork: @Sendable (Int) -> Void

    init(_ environment: ClientEnvironment) {
        executor = environment.appExecutor()
        noteWork = environment.appWork
    }

    /// Cancelled with the calling task; returns when `body` does.
    func call<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> Result<Value, any Error> {
        noteWork(1)
        defer { noteWork(-1) }
        return await withTaskGroup(of: Result<Value, any Error>.self) { group in
            group.addTask(executorPreference: executor) {
                do {
                    return .success(try await Self.$isInCall.withValue(true) { try await body() })
                } catch {
                    return .failure(error)
                }
            }
            return await group.next() ?? .failure(CancellationError())
        }
    }
}

extension WakeClient {
    /// The client's own queue, see `ClientQueue`.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }
}

extension WakeClient {
    /// Runs `body`, and all that it calls or starts, on the environment's executor of tasks,
    /// whatever task called the client.
    @discardableResult
    func onTaskExecutor<Value: Sendable, Failure>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withTaskExecutorPreference(environment.taskExecutor, operation: body)
    }
}
