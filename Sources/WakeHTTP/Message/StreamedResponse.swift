import Synchronization

/// A response sent in chunks as it is produced (RFC 9112 §7.1), to HTTP/1.0 up to the connection's
/// end. Made by ``Responder/stream(_:capacity:onLoss:)``; any thread may call it.
package final class StreamedResponse: Sendable {
    package enum SendResult: Sendable, Equatable {
        case queued
        /// With what already waits it would exceed the capacity; nothing of it was queued.
        case full
        /// The client is gone, or the response has ended.
        case gone
    }

    enum End: Sendable { case complete, aborted }

    private struct State {
        var waiting: [UInt8] = []
        /// The loop was notified and has not taken since.
        var isNotified = false
        var end: End?
        /// The loop has taken the end, or the client is gone.
        var isOver = false

        /// Whether the loop is to be notified now.
        mutating func notify() -> Bool {
            defer { isNotified = true }
            return !isNotified
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let notify: @Sendable () -> Void
    private let onLoss: @Sendable () -> Void

    init(
        capacity: Int, onLoss: @escaping @Sendable () -> Void,
        notify: @escaping @Sendable () -> Void
    ) {
        self.capacity = capacity
        self.onLoss = onLoss
        self.notify = notify
    }

    @discardableResult
    package func send(_ chunk: [UInt8]) -> SendResult {
        let (result, mustNotify) = state.withLock { state -> (SendResult, Bool) in
            guard !state.isOver, state.end == nil else { return (.gone, false) }
            guard !chunk.isEmpty else { return (.queued, false) }
            guard state.waiting.count + chunk.count <= capacity else { return (.full, false) }
            state.waiting += chunk
            return (.queued, state.notify())
        }
        if mustNotify { notify() }
        return result
    }

    package func finish() { end(.complete) }

    /// Ends the connection so that the client can tell that the response is not complete.
    package func abort() { end(.aborted) }

    private func end(_ end: End) {
        let mustNotify = state.withLock { state -> Bool in
            guard !state.isOver, state.end == nil else { return false }
            state.end = end
            return state.notify()
        }
        if mustNotify { notify() }
    }

    // MARK: The connection's side

    /// The waiting bytes, and the end when they are the last.
    func take() -> (bytes: [UInt8], end: End?) {
        state.withLock { state in
            let bytes = state.waiting
            state.waiting = []
            state.isNotified = false
            if state.end != nil { state.isOver = true }
            return (bytes, state.end)
        }
    }

    /// The client is gone: `onLoss` is called, unless the response was ended before.
    func abandon() {
        let isLoss = state.withLock { state -> Bool in
            defer {
                state.isOver = true
                state.waiting = []
            }
            return !state.isOver && state.end == nil
        }
        if isLoss { onLoss() }
    }
}
