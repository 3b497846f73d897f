/// How long to bear with a relay in trouble: ever longer pauses, one request at a time, and in the
/// end the gateway gives up for the round.
struct RelayPatience {
    /// Requests at once when all is well: one is answered while the next is on its way.
    static let requests = 2
    /// Milliseconds.
    private static let first: UInt64 = 1000
    private static let longest: UInt64 = 30_000
    /// Milliseconds without one line of an answer, counted from the first trouble.
    static let withoutLines: UInt64 = 5 * 60_000
    /// Milliseconds without any answer, counted from the first connection that did not come about.
    static let withoutConnection: UInt64 = 60_000

    private var failures = 0
    private var troubleSince: UInt64?
    private var unconnectedSince: UInt64?
    /// Nothing is to be sent before.
    private(set) var until: UInt64 = 0

    /// Requests that may be under way.
    var requests: Int { failures > 0 ? 1 : Self.requests }

    /// A line came.
    mutating func worked() {
        failures = 0
        troubleSince = nil
        unconnectedSince = nil
    }

    /// The relay said something.
    mutating func answered() { unconnectedSince = nil }

    /// - Parameter retryAfter: seconds the relay asked to wait, 0 when it did not.
    mutating func failed(retryAfter: Int = 0, now: UInt64, chance: Double) {
        if troubleSince == nil { troubleSince = now }
        let wait = min(Self.longest, Self.first << UInt64(min(failures, 16)))
        failures += 1
        let asked = max(wait, UInt64(retryAfter) * 1000)
        until = max(until, now + asked + UInt64(Double(asked) * chance / 2))
    }

    /// - Returns: false when it is time to give up.
    mutating func unconnected(now: UInt64, chance: Double) -> Bool {
        let since = unconnectedSince ?? now
        unconnectedSince = since
        failed(now: now, chance: chance)
        return now - since < Self.withoutConnection
    }

    /// No use in this round.
    func isHopeless(now: UInt64) -> Bool {
        guard let troubleSince else { return false }
        return now - troubleSince >= Self.withoutLines
    }
}
