private import Synchronization

/// An event that one task waits for and any thread signals; earlier signals are kept, as one.
package final class AsyncEvent: Sendable {
    private struct State {
        var isSignalled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    package func signal() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            state.isSignalled = state.waiter == nil
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns when the event is signalled or the task is cancelled. One waiter at a time.
    package func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isSignalled || Task.isCancelled {
                        state.isSignalled = false
                        return true
                    }
                    precondition(state.waiter == nil, "one waiter at a time")
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }

    /// Returns when the event is signalled, `sleep` returns, or the task is cancelled.
    package func wait(orUntil sleep: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask { await sleep() }
            await group.next()
            group.cancelAll()
        }
    }
}
