/// Whether a push service can take anything at all: when it answers nothing but "too much" or
/// "broken", everything pauses, ever longer, and in the end the gateway gives up for the round.
/// A service in trouble must not be stormed with retries.
struct Pushback {
    /// Answers in a row, none accepted, that make a pause; and how many try after it.
    static let limit = 64
    /// Milliseconds.
    private static let first: UInt64 = 1000
    private static let longest: UInt64 = 60_000
    /// Milliseconds without one accepted wake-up, counted from the first refusal.
    static let patience: UInt64 = 5 * 60_000

    private var inRow = 0
    private var unseen = 0
    private var since: UInt64?
    private var pauses = 0
    private var until: UInt64 = 0

    /// The service does its work.
    mutating func worked() { self = Pushback() }

    mutating func refused(now: UInt64, chance: Double) {
        if since == nil { since = now }
        // What was in flight when the pause began adds nothing to it, nor to the next.
        guard now >= until else { return }
        inRow += 1
        guard inRow >= Self.limit else { return }
        inRow = 0
        let wait = min(Self.longest, Self.first << UInt64(min(pauses, 16)))
        pauses += 1
        until = now + wait + UInt64(Double(wait) * chance / 2)
    }

    /// A wake-up came back unseen. The engine waits before it connects again: no other pause.
    mutating func returned(now: UInt64) {
        if since == nil { since = now }
        unseen += 1
    }

    /// No use in this round.
    func isHopeless(now: UInt64) -> Bool {
        guard pauses > 0 || unseen >= Self.limit, let since else { return false }
        return now - since >= Self.patience
    }

    /// Milliseconds since the first refusal, once it has paused; nil for a service without trouble.
    func trouble(now: UInt64) -> UInt64? {
        guard pauses > 0, let since else { return nil }
        return now - since
    }

    /// Wake-ups that may be in flight: nil for any number.
    func allowance(now: UInt64) -> Int? {
        guard pauses > 0 else { return nil }
        return now < until ? 0 : Self.limit
    }
}
