import Synchronization

/// Wakes one waiter, at once or the next time it waits. Ringing often is ringing once.
package final class Bell: Sendable {
    private struct State {
        var isRung = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    package func ring() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            state.isRung = state.waiter == nil
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns when the bell rings, when the time is over or when the task is cancelled. One
    /// waiter at a time.
    /// - Parameter duration: nil waits for the bell alone.
    package func wait(for duration: Duration?, in environment: ClientEnvironment) async {
        if let duration, duration <= .zero { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.rung() }
            if let duration { group.addTask { await environment.sleep(duration) } }
            await group.next()
            group.cancelAll()
        }
    }

    private func rung() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isRung || Task.isCancelled {
                        state.isRung = false
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
}
