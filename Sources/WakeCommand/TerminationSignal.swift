private import CLinux
private import Dispatch

/// SIGTERM, SIGINT and SIGHUP as cancellation: the one way a daemon ends.
package enum TerminationSignal {
    /// Runs `body` in a task that the first of them cancels; returns when it has ended.
    /// Call once. A second signal does nothing: ending takes a bounded time already.
    package static func cancels(_ body: @escaping @Sendable () async -> Void) async {
        let result = linux_catch_termination()
        precondition(result == 0, "no descriptor for signals")
        let task = Task { await body() }
        // A thread of its own: Dispatch's signal sources miss signals that a parent left blocked.
        DispatchQueue(label: "termination").async {
            linux_wait_for_termination()
            task.cancel()
        }
        await task.value
    }
}
