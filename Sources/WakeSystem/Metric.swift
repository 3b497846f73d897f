private import Synchronization

/// The name and the meaning of a number for the operator, in metrics (after `reveille_`) and in
/// `reveille status`. No number is about one person.
package struct Metric: Sendable {
    package enum Kind: String, Sendable { case counter, gauge }

    /// How the numbers of several services are one.
    package enum Whole: Sendable {
        case sum, least, greatest
        /// The least of those that are known: -1 is not.
        case leastKnown
        /// The least of those that have read a head of the feed.
        case leastOfHeads

        package func callAsFunction(_ values: [Int]) -> Int {
            switch self {
            case .sum: values.reduce(0, +)
            case .least, .leastOfHeads: values.min() ?? 0
            case .leastKnown: values.filter { $0 >= 0 }.min() ?? -1
            case .greatest: values.max() ?? 0
            }
        }
    }

    package let name: StaticString
    package let help: StaticString
    package let kind: Kind
    package let whole: Whole

    package init(
        _ name: StaticString, _ help: StaticString, _ kind: Kind = .gauge, _ whole: Whole = .sum
    ) {
        (self.name, self.help, self.kind, self.whole) = (name, help, kind, whole)
    }
}

/// A number that is kept where its event happens, from the start of the process, by any thread.
package final class Counter: Sendable {
    package let metric: Metric
    private let number = Atomic<Int>(0)

    package init(_ name: StaticString, _ help: StaticString, _ kind: Metric.Kind = .counter) {
        metric = Metric(name, help, kind)
    }

    // Counting needs no order among threads, only that nothing is lost.

    package var now: Int { number.load(ordering: .relaxed) }

    package func add(_ count: Int = 1) { number.add(count, ordering: .relaxed) }

    package func set(_ value: Int) { number.store(value, ordering: .relaxed) }
}
