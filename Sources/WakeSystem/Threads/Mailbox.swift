private import Synchronization

/// A bounded queue between threads. Many post, one takes; the taker is notified once per change
/// from empty to not empty: by `Semaphore.post`, `Poller.wake` or `AsyncEvent.signal`.
package final class Mailbox<Message: Sendable>: Sendable {
    package enum PostResult: Sendable, Equatable {
        case posted
        /// The capacity is used up; the message was dropped.
        case full
        /// `close` was called; the message was dropped.
        case closed
    }

    private struct State {
        var messages: [Message] = []
        var weight = 0
        var isClosed = false

        mutating func removeFirst(_ limit: Int) -> [Message] {
            guard messages.count > limit else {
                defer { messages = [] }
                return messages
            }
            defer { messages.removeFirst(limit) }
            return Array(messages[..<limit])
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let notify: @Sendable () -> Void

    /// - Parameter notify: called outside the lock, on the posting thread.
    package init(capacity: Int = .max, notify: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.notify = notify
    }

    /// - Parameter weight: counts against the capacity until `release` gives it back.
    @discardableResult package func post(_ message: Message, weight: Int = 1) -> PostResult {
        let (result, wasEmpty) = state.withLock { state -> (PostResult, Bool) in
            if state.isClosed { return (.closed, false) }
            guard weight <= capacity - state.weight else { return (.full, false) }
            state.weight += weight
            state.messages.append(message)
            return (.posted, state.messages.count == 1)
        }
        if wasEmpty { notify() }
        return result
    }

    /// Takes up to `limit` messages in order; their weight stays until `release`.
    package func take(limit: Int = .max) -> [Message] { state.withLock { $0.removeFirst(limit) } }

    /// Takes messages of weight 1 and gives their capacity back; nil once closed and empty.
    package func drain(limit: Int = .max) -> [Message]? {
        state.withLock { state in
            guard !state.messages.isEmpty else { return state.isClosed ? nil : [] }
            let first = state.removeFirst(limit)
            state.weight -= first.count
            if state.messages.isEmpty { state.messages.reserveCapacity(min(first.count, 512)) }
            return first
        }
    }

    package func release(_ weight: Int) { state.withLock { $0.weight -= weight } }

    package var weight: Int { state.withLock { $0.weight } }
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Nothing more is taken in; what was posted can still be taken.
    package func close() {
        state.withLock { $0.isClosed = true }
        notify()
    }
}
