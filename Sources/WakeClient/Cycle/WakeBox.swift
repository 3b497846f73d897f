import Synchronization

/// Wakes that the client has not taken up yet: however many come, they are one.
final class WakeBox: Sendable {
    /// What came since the last `take`.
    struct Wakes: Sendable, Equatable {
        /// Of those that come to all clients at once; nil when none came.
        var shared: CycleGate.Request?
        /// One came that concerns this client alone, and need not wait for its turn.
        var isUrgent = false
    }

    private let wakes = Mutex(Wakes())

    func add(_ reason: SyncReason) {
        wakes.withLock { wakes in
            switch reason {
            case .manual, .poll, .resumed: wakes.isUrgent = true
            case .push: wakes.add(hint: 0)
            case .wake(let hint): wakes.add(hint: hint)
            }
        }
    }

    func take() -> Wakes {
        wakes.withLock { wakes in
            defer { wakes = Wakes() }
            return wakes
        }
    }
}

extension WakeBox.Wakes {
    fileprivate mutating func add(hint: UInt64) {
        var request = shared ?? CycleGate.Request()
        request.hint = max(request.hint, hint)
        request.isBlindWake = request.isBlindWake || hint == 0
        shared = request
    }
}
