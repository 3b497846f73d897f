/// A circuit breaker: after `threshold` failures in a row it opens for a pause that grows with
/// every further failure, lets `probes` attempts through after each pause, and closes on the first
/// success. A value that takes the time.
package struct CircuitBreaker: Sendable, Equatable {
    /// The parameters of a breaker; times in milliseconds.
    package struct Policy: Sendable, Equatable {
        package let threshold: Int
        /// The pauses in order; the last one repeats. Each is stretched by up to a half.
        package let pauses: [UInt64]
        /// Attempts that may be in flight after a pause.
        package let probes: Int

        package init(threshold: Int, pauses: [UInt64], probes: Int) {
            precondition(threshold >= 1 && !pauses.isEmpty && probes >= 1)
            self.threshold = threshold
            self.pauses = pauses
            self.probes = probes
        }
    }

    package let policy: Policy
    /// Pauses since the last success.
    package private(set) var pauseCount = 0
    private var failuresInRow = 0
    private var openUntil: UInt64 = 0
    /// When the first failure since the last success was counted.
    private var firstFailure: UInt64?

    package init(_ policy: Policy) { self.policy = policy }

    package mutating func succeed() { self = CircuitBreaker(policy) }

    /// - Parameter random: in [0, 1).
    /// - Returns: true when this failure opened the breaker.
    @discardableResult package mutating func fail(now: UInt64, random: Double) -> Bool {
        if firstFailure == nil { firstFailure = now }
        // What was in flight when the pause began adds nothing to it.
        guard now >= openUntil else { return false }
        failuresInRow += 1
        let needed = pauseCount == 0 ? policy.threshold : min(policy.threshold, policy.probes)
        guard failuresInRow >= needed else { return false }
        open(now: now, random: random)
        return true
    }

    /// Opens the breaker for the next pause, whatever was counted.
    package mutating func open(now: UInt64, random: Double) {
        if firstFailure == nil { firstFailure = now }
        failuresInRow = 0
        let pause = policy.pauses[min(pauseCount, policy.pauses.count - 1)]
        pauseCount += 1
        openUntil = now + pause + UInt64(Double(pause) * random / 2)
    }

    /// Attempts that may be in flight; nil for any number.
    package func allowance(now: UInt64) -> Int? {
        guard pauseCount > 0 else { return nil }
        return now < openUntil ? 0 : policy.probes
    }

    /// Milliseconds since the first failure; nil after a success.
    package func failingFor(now: UInt64) -> UInt64? { firstFailure.map { now - $0 } }
}
