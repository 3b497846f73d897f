import Synchronization

/// A number that any thread may change and read.
package struct Counter: ~Copyable, Sendable {
    private let number = Atomic<Int>(0)

    package init() {}

    package var value: Int { number.load(ordering: .relaxed) }

    func increment() { number.add(1, ordering: .relaxed) }

    func decrement() { number.subtract(1, ordering: .relaxed) }

    func set(_ value: Int) { number.store(value, ordering: .relaxed) }
}
