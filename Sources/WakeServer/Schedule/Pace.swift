/// Lets pushes leave at an even rate: a token bucket that holds one push and
/// 50 milliseconds' worth.
///
/// Exact: the credit is counted in nanoseconds times pushes, so that no rate drifts and a million
/// pushes over two hours take two hours. Quiet on clock jumps: a clock that goes back gives
/// nothing, one that leaps ahead no more than one bucket, so neither can make a burst. Who asks
/// less often than every 50 milliseconds therefore sends more slowly than planned, never in bursts.
package struct Pace: Sendable, Equatable {
    /// Milliseconds' worth of pushes that may leave at once, beside the one that is due.
    package static let burstMilliseconds = 50

    /// `pushes` in `seconds`.
    private var pushes: Int
    private var seconds: Int
    /// Nanoseconds times pushes: a push costs `seconds` x 10^9.
    private var credit = 0
    /// Nanoseconds; nil before the first call.
    private var last: UInt64?

    /// - Parameters:
    ///   - pushes: 1 to 10^9, evenly over
    ///   - seconds: 1 to 10^6. `Pace(pushes: 50, over: 3)` lets 50 leave in every 3 seconds.
    package init(pushes: Int, over seconds: Int) {
        self.pushes = 0
        self.seconds = 0
        change(pushes: pushes, over: seconds)
    }

    /// Another rate from now on.
    package mutating func change(pushes: Int, over seconds: Int) {
        precondition((1...1_000_000_000).contains(pushes), "pushes")
        precondition((1...1_000_000).contains(seconds), "seconds")
        self.pushes = pushes
        self.seconds = seconds
        credit = 0
    }

    /// Pushes that may leave now; they count as sent.
    /// - Parameters:
    ///   - now: nanoseconds of a clock like CLOCK_MONOTONIC or CLOCK_BOOTTIME.
    ///   - wanted: pushes that are there to be sent; the rest stays in the bucket.
    package mutating func allowance(now: UInt64, wanted: Int = .max) -> Int {
        fill(now)
        let granted = max(0, min(credit / cost, wanted))
        credit -= granted * cost
        return granted
    }

    /// Nanoseconds from `now` until a push may leave; 0 when one may.
    package func wait(now: UInt64) -> UInt64 {
        var filled = self
        filled.fill(now)
        let missing = filled.cost - filled.credit
        return missing <= 0 ? 0 : UInt64((missing + pushes - 1) / pushes)
    }

    private mutating func fill(_ now: UInt64) {
        defer { last = now }
        guard let last, now > last else { return }
        // Capped before it is multiplied: capacity is at most 5.1 x 10^16, see `init`.
        let fullAfter = (capacity + pushes - 1) / pushes
        let elapsed = min(now - last, UInt64(fullAfter))
        credit = min(capacity, credit + Int(elapsed) * pushes)
    }

    private var cost: Int { seconds * 1_000_000_000 }

    /// One push and 50 milliseconds' worth: who is late by less loses nothing, however slow the
    /// rate.
    private var capacity: Int { cost + pushes * Self.burstMilliseconds * 1_000_000 }
}
