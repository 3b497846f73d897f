extension Duration {
    /// Whole nanoseconds, rounded down; 0 for a negative duration. Exact: the quotient of two
    /// durations is a `Double`, which has nanoseconds for 104 days only.
    package var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}

/// A token bucket: `tokens` every `period`, of which `burst` may be saved up. Exact: credit is
/// counted in tokens times nanoseconds. A clock that goes back gives nothing.
package struct TokenBucket: Sendable, Equatable {
    private let tokens: Int
    private let period: Int
    private let capacity: Int
    /// Tokens times nanoseconds; one token costs `period`.
    private var credit: Int
    private var last: UInt64?

    /// `tokens`: 1 to 10⁹, earned evenly over `period`, 1 ns to 10⁶ s. `burst`: at least 1;
    /// `burst` × `period` in nanoseconds must fit an `Int`.
    package init(tokens: Int, per period: Duration, burst: Int, isFull: Bool) {
        let nanoseconds = Int(period / .nanoseconds(1))
        precondition((1...1_000_000_000).contains(tokens), "tokens")
        precondition((1...1_000_000_000_000_000).contains(nanoseconds), "period")
        precondition(burst >= 1)
        self.tokens = tokens
        self.period = nanoseconds
        capacity = burst * nanoseconds
        credit = isFull ? capacity : 0
    }

    /// Takes up to `wanted` tokens; returns their number. `now`: nanoseconds of a steady clock.
    package mutating func take(upTo wanted: Int, now: UInt64) -> Int {
        fill(now)
        let taken = max(0, min(credit / period, wanted))
        credit -= taken * period
        return taken
    }

    /// Takes `count` tokens and returns nil, or takes none and returns the nanoseconds to wait.
    package mutating func take(_ count: Int, now: UInt64) -> UInt64? {
        fill(now)
        let missing = count * period - credit
        guard missing > 0 else {
            credit -= count * period
            return nil
        }
        return UInt64((missing + tokens - 1) / tokens)
    }

    /// Nanoseconds until one token is there; 0 when one is.
    package func wait(now: UInt64) -> UInt64 {
        var filled = self
        filled.fill(now)
        let missing = period - filled.credit
        return missing <= 0 ? 0 : UInt64((missing + tokens - 1) / tokens)
    }

    private mutating func fill(_ now: UInt64) {
        defer { last = now }
        guard let last, now > last else { return }
        // Bounded before it is multiplied.
        let fullAfter = UInt64((capacity - credit + tokens - 1) / tokens)
        guard now - last < fullAfter else {
            credit = capacity
            return
        }
        credit += Int(now - last) * tokens
    }
}
