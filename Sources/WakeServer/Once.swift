import Synchronization

/// A value that is known a moment after those who will read it were made.
final class Once<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? { stored.withLock { $0 } }

    func set(_ value: Value) {
        stored.withLock { stored in
            precondition(stored == nil, "set once")
            stored = value
        }
    }
}
