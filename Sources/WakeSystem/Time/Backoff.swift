/// Exponential back-off: a bound that doubles with every failure, and a random part of it to wait
/// (aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter).
package struct Backoff: Sendable, Equatable {
    package enum Jitter: Sendable, Equatable {
        /// A random time from 0 to the bound.
        case full
        /// The bound, stretched by a random part of up to a half: never shorter than the bound.
        case stretch
    }

    /// The bound after the first failure.
    package let base: Duration
    package let ceiling: Duration
    package let jitter: Jitter
    /// Failures since the last success.
    package private(set) var failures: Int

    package init(base: Duration, ceiling: Duration, jitter: Jitter = .full, failures: Int = 0) {
        precondition(base > .zero && ceiling >= base && failures >= 0)
        self.base = base
        self.ceiling = ceiling
        self.jitter = jitter
        self.failures = failures
    }

    /// Counts a failure; returns the wait before the next attempt. `random` is in [0, 1).
    /// - Parameter floor: the shortest wait, such as a server's Retry-After (RFC 9110 §10.2.3).
    package mutating func fail(random: Double, floor: Duration = .zero) -> Duration {
        failures += 1
        return max(floor, wait(random: random))
    }

    package mutating func succeed() { failures = 0 }

    /// The wait that follows the failures counted so far; zero without one.
    package func wait(random: Double) -> Duration {
        precondition((0..<1).contains(random))
        guard failures > 0 else { return .zero }
        // More doublings than that overflow nothing and change nothing.
        let bound = min(ceiling, base * (1 << min(failures - 1, 30)))
        switch jitter {
        case .full: return bound * random
        case .stretch: return bound + bound * (random / 2)
        }
    }
}
