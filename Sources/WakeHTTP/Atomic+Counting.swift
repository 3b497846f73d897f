import Synchronization

/// Counting needs no order among threads, only that nothing is lost.
extension Atomic where Value == Int {
    func increment() { add(1, ordering: .relaxed) }

    func decrement() { subtract(1, ordering: .relaxed) }
}
