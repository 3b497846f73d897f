/// The rule of when to warn of silence and of lasting trouble, counted from the last verified head
/// and never from the last wake: a service that wakes and a feed that is dead look alike otherwise.
struct FeedHealth: Sendable, Equatable {
    /// Days without a verified head, each warned of once.
    static let silenceDays = [2, 7]
    /// Seconds of nothing but trouble before a warning.
    static let patience: Int64 = 24 * 3600

    /// A refusal of heads that lasts.
    enum Trouble: Int64, Sendable, Equatable {
        case badFeed = 1
        case rollback = 2
    }

    /// Seconds since 1970: the last verified head, or the first start.
    private(set) var verified: Int64
    /// `verified` is of a head.
    private(set) var hasVerified = false
    /// Days of silence already warned of.
    private(set) var warnedDays = 0
    private(set) var trouble: Trouble?
    private(set) var troubleSince: Int64 = 0
    private(set) var hasWarnedOfTrouble = false

    mutating func headVerified(now: Int64) {
        self = FeedHealth(start: now)
        hasVerified = true
    }

    /// A head was refused. A change of its kind does not restart the day.
    mutating func headRefused(_ kind: Trouble, now: Int64) -> Warning? {
        // A clock that was set back restarts the day; it would last for as long as it was set.
        if trouble == nil || now < troubleSince { troubleSince = now }
        trouble = kind
        guard !hasWarnedOfTrouble, now - troubleSince >= Self.patience else { return nil }
        hasWarnedOfTrouble = true
        return kind == .badFeed ? .badFeed : .rollback
    }

    /// The warning that is due, once.
    mutating func silence(now: Int64) -> Warning? {
        // The clock was set back: count from here, or no warning comes until it is there again.
        if now < verified { verified = now }
        let days = Self.silenceDays.last { now - verified >= Int64($0) * 86_400 } ?? 0
        guard days > warnedDays else { return nil }
        warnedDays = days
        return .silence(days: days)
    }
}

extension FeedHealth {
    init(start: Int64) {
        self.init(verified: start)
    }
}
