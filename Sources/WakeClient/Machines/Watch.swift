/// When to warn of silence and of trouble that lasts, counted from the last verified head and
/// never from the last wake: a service that wakes and a feed that is dead look alike otherwise.
struct Watch: Sendable, Equatable {
    /// Days without a verified head, each warned of once.
    static let silenceDays = [2, 7]
    static let patience: Int64 = 24 * 3600

    /// Trouble that becomes a warning when nothing but it came for a day.
    enum Trouble: Int64, Sendable, Equatable {
        case badFeed = 1
        case rollback = 2
    }

    /// Seconds since 1970: the last verified head, or the first start.
    var verified: Int64
    /// Whether `verified` is of a head.
    var hasVerified = false
    /// Days of silence already warned of.
    var warnedDays = 0
    var trouble: Trouble?
    var troubleSince: Int64 = 0
    var hasWarnedOfTrouble = false

    init(start: Int64) {
        verified = start
    }

    mutating func headVerified(now: Int64) {
        self = Watch(start: now)
        hasVerified = true
    }

    /// A head was refused. A change of kind starts the day anew only when there was none before.
    mutating func headRefused(_ kind: Trouble, now: Int64) -> Warning? {
        // A clock that was set back starts the day anew; it would last for as long as it was set.
        if trouble == nil || now < troubleSince { troubleSince = now }
        trouble = kind
        guard !hasWarnedOfTrouble, now - troubleSince >= Self.patience else { return nil }
        hasWarnedOfTrouble = true
        return kind == .badFeed ? .badFeed : .rollback
    }

    /// The warning that is due, once.
    mutating func silence(now: Int64) -> Warning? {
        // The clock was set back: counted from here, or nothing would be said until it is there
        // again.
        if now < verified { verified = now }
        let days = Self.silenceDays.last { now - verified >= Int64($0) * 86_400 } ?? 0
        guard days > warnedDays else { return nil }
        warnedDays = days
        return .silence(days: days)
    }
}
