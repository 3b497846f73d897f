import WakeSystem

/// The circuit breaker of a push service: answers of "too much" or "broken" alone make ever longer
/// pauses, and in the end the gateway gives up for the round.
struct ServiceBreaker {
    /// Answers in a row, none accepted, that make a pause; and the number of tries after it.
    static let limit = 64
    /// Milliseconds without one accepted wake-up, counted from the first refusal.
    static let patience: UInt64 = 5 * 60_000

    private static let policy = CircuitBreaker.Policy(
        threshold: limit, pauses: [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000], probes: limit)

    private var breaker = CircuitBreaker(policy)
    private var unseen = 0
    private var firstUnseen: UInt64?

    mutating func succeed() { self = ServiceBreaker() }

    mutating func fail(at moment: DeliveryMoment) {
        breaker.fail(now: moment.now, random: moment.jitter)
    }

    /// Counts a wake-up that came back unseen; the engine itself waits before it connects again.
    mutating func failUnseen(now: UInt64) {
        if firstUnseen == nil { firstUnseen = now }
        unseen += 1
    }

    func isHopeless(now: UInt64) -> Bool {
        guard breaker.pauseCount > 0 || unseen >= Self.limit else { return false }
        let failing = max(breaker.failingFor(now: now) ?? 0, firstUnseen.map { now - $0 } ?? 0)
        return failing >= Self.patience
    }

    /// Milliseconds since the first refusal, once it has paused; nil for a service that works.
    func failingFor(now: UInt64) -> UInt64? {
        breaker.pauseCount > 0 ? breaker.failingFor(now: now) : nil
    }

    /// Wake-ups that may be in flight: nil for any number.
    func allowance(now: UInt64) -> Int? { breaker.allowance(now: now) }
}

/// The circuit breaker of one host of Web Push: failures in a row make ever longer pauses with one
/// request after each, and in the end the host is given up for the round. Any answer ends a pause.
struct HostBreaker {
    /// Requests in a row without an answer that make the first pause.
    static let limit = 3
    /// Milliseconds. A host that has accepted nothing in this round is given up after the first
    /// two: with time-outs of ten seconds it costs its own wake-ups three quarters of a minute.
    static let pauses: [UInt64] = [5000, 10_000, 20_000, 40_000, 60_000]
    static let pausesBeforeSuccess = 2

    private var breaker = CircuitBreaker(
        CircuitBreaker.Policy(threshold: limit, pauses: pauses, probes: 1))

    mutating func succeed() { self = HostBreaker() }

    /// True when the host, which has accepted a wake-up in this round or not, is to be given up.
    mutating func fail(hasAccepted: Bool, at moment: DeliveryMoment) -> Bool {
        breaker.fail(now: moment.now, random: moment.jitter) && isOver(hasAccepted)
    }

    /// Pauses at once, as for a name that does not resolve; true when the host is to be given up.
    mutating func pause(hasAccepted: Bool, at moment: DeliveryMoment) -> Bool {
        breaker.open(now: moment.now, random: moment.jitter)
        return isOver(hasAccepted)
    }

    private func isOver(_ hasAccepted: Bool) -> Bool {
        breaker.pauseCount > (hasAccepted ? Self.pauses.count : Self.pausesBeforeSuccess)
    }

    /// Requests that may be in flight: nil for any number.
    func allowance(now: UInt64) -> Int? { breaker.allowance(now: now) }

    /// Milliseconds since the first failure, once it has paused; nil for a host that works.
    func failingFor(now: UInt64) -> UInt64? {
        breaker.pauseCount > 0 ? breaker.failingFor(now: now) : nil
    }
}
