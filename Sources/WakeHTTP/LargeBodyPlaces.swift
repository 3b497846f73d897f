import Synchronization

/// Room for a number of large bodies.
final class LargeBodyPlaces: Sendable {
    private let free: Atomic<Int>

    init(_ count: Int) {
        free = Atomic(count)
    }

    /// Taken until the place is let go of; nil when there is none.
    /// - Parameter held: let go of together with the place.
    func take(holding held: (any AnyObject & Sendable)?) -> Place? {
        guard free.subtract(1, ordering: .relaxed).newValue >= 0 else {
            free.increment()
            return nil
        }
        return Place(self, held)
    }

    /// Free again when its last holder lets go of it.
    final class Place: Sendable {
        private let places: LargeBodyPlaces
        private let held: (any AnyObject & Sendable)?

        fileprivate init(_ places: LargeBodyPlaces, _ held: (any AnyObject & Sendable)?) {
            self.places = places
            self.held = held
        }

        deinit { places.free.increment() }
    }
}
