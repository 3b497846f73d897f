import Dispatch

/// A task executor with a thread of its own: code that blocks in system calls, such as the calls of
/// `LoopbackClient`, runs here and keeps no thread of the cooperative pool from other tests.
package final class BlockingExecutor: TaskExecutor {
    // A serial queue gets a thread beyond the number of cores (libdispatch, "overcommit").
    private let queue = DispatchQueue(label: "blocking calls of a test")

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Runs `body` on a thread that may block.
    package static func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await withTaskExecutorPreference(BlockingExecutor(), operation: body)
    }
}
