/// A circuit breaker as a value: `threshold` failures in a row open it for a pause, longer with
/// every further failure; after each pause `probes` attempts may pass; a success closes it.
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
    package private(set) var pauseCount = 0
    private var failuresInRow = 0
    private var openUntil: UInt64 = 0
    private var firstFailure: UInt64?

    package init(_ policy: Policy) { self.policy = policy }

    package mutating func succeed() { self = CircuitBreaker(policy) }

    /// True when this failure opened the breaker. `random` is in [0, 1).
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

    /// Opens the breaker for the next pause, without regard to the count.
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

/// The circuit breaker of a push service: after longer and longer pauses for answers of "too much"
/// or "broken" alone, the gateway gives up for the round.
struct ServiceBreaker {
    /// Answers in a row, none accepted, that make a pause; and the number of tries after it.
    static let limit = 64
    /// Milliseconds without one accepted wake-up, counted from the first refusal.
    /// Longer than one wake-up is tried, so that the last of a round does not stop the gateway; and
    /// less than five minutes, with which operators reckon.
    static let patience: UInt64 = RetryPolicy.patience + 45_000
    private static let failuresAtLeast = 3

    private static let policy = CircuitBreaker.Policy(
        threshold: limit, pauses: [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000], probes: limit)

    private(set) var circuit = CircuitBreaker(policy)
    private var failures = 0
    private var firstUnseen: UInt64?

    mutating func succeed() {
        // For every push: nothing is made anew where nothing has failed.
        if failures > 0 { self = ServiceBreaker() }
    }

    mutating func fail(at moment: DeliveryMoment) {
        failures += 1
        circuit.fail(now: moment.now, random: moment.jitter)
    }

    /// Counts a wake-up that came back unseen; the engine itself waits before it connects again.
    mutating func failUnseen(now: UInt64) {
        if firstUnseen == nil { firstUnseen = now }
        failures += 1
    }

    func isHopeless(now: UInt64) -> Bool {
        guard failures >= Self.failuresAtLeast else { return false }
        let failing = max(circuit.failingFor(now: now) ?? 0, firstUnseen.map { now - $0 } ?? 0)
        return failing >= Self.patience
    }

    /// Wake-ups that may be in flight; nil for any number.
    func allowance(now: UInt64) -> Int? { circuit.allowance(now: now) }
}
