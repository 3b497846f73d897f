import Synchronization

/// Room for a number of large bodies.
final class LargeBodyPlaces: Sendable {
    private let free: Atomic<Int>

    init(_ count: Int) {
        free = Atomic(count)
    }

    /// Taken until the place is let go of; nil when there is none.
    func take() -> Place? {
        guard free.subtract(1, ordering: .relaxed).newValue >= 0 else {
            free.increment()
            return nil
        }
        return Place(self)
    }

    /// Free again when its last holder lets go of it.
    final class Place: Sendable {
        private let places: LargeBodyPlaces

        fileprivate init(_ places: LargeBodyPlaces) {
            self.places = places
        }

        deinit { places.free.increment() }
    }
}
