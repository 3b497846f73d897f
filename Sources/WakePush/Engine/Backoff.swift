/// When one connection may next be attempted: as a value that takes `now`.
struct Backoff: Equatable, Sendable {
    let base: UInt64
    let longest: UInt64
    private(set) var failures = 0
    private var lastAttempt: UInt64?

    init(base: UInt64, longest: UInt64) {
        self.base = base
        self.longest = longest
    }

    /// - Parameter chance: from 0 to 1; stretches the wait by up to a half, so that many engines
    ///   that lost a service together do not return together.
    func nextAttempt(chance: Double) -> UInt64 {
        guard let lastAttempt else { return 0 }
        let wait = min(longest, base << UInt64(min(failures, 16)))
        return lastAttempt + wait + UInt64(Double(wait) * chance / 2)
    }

    mutating func attempted(now: UInt64) { lastAttempt = now }

    mutating func failed() { failures += 1 }

    /// The connection did its work; its end is no failure.
    mutating func succeeded() { failures = 0 }
}
