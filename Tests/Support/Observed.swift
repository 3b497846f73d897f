private import Synchronization

/// A value that other threads change and tests wait for.
package final class Observed<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var changes = 0
        var waiters: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>

    package init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    package var value: Value { state.withLock { $0.value } }

    package func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        let (result, waiters) = state.withLock { state in
            let result = change(&state.value)
            state.changes += 1
            defer { state.waiters = [] }
            return (result, state.waiters)
        }
        for waiter in waiters { waiter() }
        return result
    }

    /// Waits until `find` has found something.
    /// - Throws: `CancellationError` when the test's time is over first.
    package func first<Result: Sendable>(_ find: (Value) -> Result?) async throws -> Result {
        while true {
            let (found, changes) = state.withLock { (find($0.value), $0.changes) }
            if let found { return found }
            try Task.checkCancellation()
            await withTaskCancellationHandler {
                await change(after: changes)
            } onCancel: {
                update { _ in }
            }
        }
    }

    /// Waits until more has happened than the first `seen` changes.
    private func change(after seen: Int) async {
        await withCheckedContinuation { continuation in
            let hasChanged = state.withLock { state in
                if state.changes != seen { return true }
                state.waiters.append { continuation.resume() }
                return false
            }
            if hasChanged { continuation.resume() }
        }
    }
}
