/// How long a wake-up waits before it is tried again, and when it is given up for the round.
enum RetryPolicy {
    /// What a wake-up may cost before it is given up. Attempts that the push service is known not
    /// to have seen cost little: they are the connection's fault, and the engine itself waits
    /// before it connects again.
    static let budget = 100
    private static let attempt = 10
    private static let unseenAttempt = 1

    /// Milliseconds; doubled by each attempt.
    private static let first = 500.0
    private static let longest = 30_000.0
    /// Seconds a push service may ask to wait; more is the next round's business.
    static let longestRetryAfter = 600

    static func cost(isUnseen: Bool) -> Int { isUnseen ? unseenAttempt : attempt }

    /// - Parameters:
    ///   - spent: what the wake-up has cost so far, this attempt included.
    ///   - retryAfter: seconds the push service asked to wait, 0 when it did not.
    ///   - chance: from 0 to 1, stretches the wait by up to a half: what failed together must not
    ///     return together.
    /// - Returns: milliseconds; nil to give up for the round.
    static func delay(
        spent: Int, isUnseen: Bool, retryAfter: Int, chance: Double
    ) -> UInt64? {
        guard spent < budget, retryAfter <= longestRetryAfter else { return nil }
        if isUnseen { return 0 }
        var wait = first
        for _ in 1..<max(1, spent / attempt) { wait = min(longest, wait * 2) }
        return UInt64(max(wait, Double(retryAfter) * 1000) * (1 + chance / 2))
    }
}
