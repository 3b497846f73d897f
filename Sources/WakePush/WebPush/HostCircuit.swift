/// Whether a host can be reached at all: when requests to it fail one after the other it pauses,
/// ever longer, one request tries after each pause, and in the end the host is given up for the
/// round. Any answer, also a refusal, shows that it is there. A value that takes the time.
struct HostCircuit: Equatable {
    /// Requests in a row without an answer that make the first pause.
    static let limit = 3
    /// Milliseconds; each is stretched by up to a half. A host that has accepted nothing in this
    /// round is given up after the first two: with time-outs of ten seconds it costs its own
    /// wake-ups three quarters of a minute, and nobody else's anything.
    static let pauses: [UInt64] = [5000, 10_000, 20_000, 40_000, 60_000]
    static let pausesOfUnproven = 2

    private var inRow = 0
    private var taken = 0
    private var until: UInt64 = 0
    /// When the first request of those failed.
    private var since: UInt64?

    mutating func answered() { self = HostCircuit() }

    /// - Parameters:
    ///   - isProven: the host has accepted a wake-up in this round.
    ///   - chance: from 0 to 1.
    /// - Returns: true when the host is given up.
    mutating func failed(isProven: Bool, now: UInt64, chance: Double) -> Bool {
        if since == nil { since = now }
        // What was on its way when the pause began adds nothing to it.
        guard now >= until else { return false }
        inRow += 1
        guard taken > 0 || inRow >= Self.limit else { return false }
        return pause(isProven: isProven, now: now, chance: chance)
    }

    /// The next pause now, such as when the host's name does not resolve.
    /// - Returns: true when the host is given up.
    mutating func pause(isProven: Bool, now: UInt64, chance: Double) -> Bool {
        if since == nil { since = now }
        inRow = 0
        guard taken < (isProven ? Self.pauses.count : Self.pausesOfUnproven) else { return true }
        let wait = Self.pauses[taken]
        taken += 1
        until = now + wait + UInt64(Double(wait) * chance / 2)
        return false
    }

    /// Requests that may be on their way: nil for any number.
    func allowance(now: UInt64) -> Int? {
        guard taken > 0 else { return nil }
        return now < until ? 0 : 1
    }

    /// Milliseconds since its first failure, once it has paused; nil for a host without trouble.
    func trouble(now: UInt64) -> UInt64? {
        guard taken > 0, let since else { return nil }
        return now - since
    }
}
