import WakeFeed

/// Everything remembered about the source and its cycles: one row.
struct FeedRecord: Sendable, Equatable {
    /// The position up to which the published data was checked.
    enum Position: Sendable, Equatable {
        case feed(FeedCursor)
        /// The app's own cursor, nil before the first page, and the app's settings.
        case app(DataCursor?, FeedSettings)

        /// The stored position, with the settings of this one, which is the start of a source.
        /// - Returns: nil when it belongs to another feed, or to a source of the other kind.
        func resumed(at stored: Position) -> Position? {
            switch (self, stored) {
            case (.feed(let start), .feed(let cursor)):
                start.feedID == cursor.feedID ? stored : nil
            case (.app(_, let settings), .app(let cursor, _)): .app(cursor, settings)
            case (.feed, .app), (.app, .feed): nil
            }
        }
    }

    /// Occasions that were warned of and are not over.
    struct Warned: OptionSet, Sendable, Equatable {
        let rawValue: Int64

        static let stale = Warned(rawValue: 1)
        static let clockSkew = Warned(rawValue: 2)
        static let retired = Warned(rawValue: 4)
        static let fork = Warned(rawValue: 8)
        static let refused = Warned(rawValue: 16)
        static let cacheFull = Warned(rawValue: 32)
        static let distributor = Warned(rawValue: 64)
    }

    var position: Position
    /// The time at which the head with the highest `issued` was first seen, seconds since 1970.
    var directivesSeen: Int64 = 0
    var health: FeedHealth
    /// A fork was seen: the cursor moves no more.
    var isForked = false
    var warned: Warned = []
    /// The generation of the app's secrets that everything retained was checked against.
    var generation: UInt64?

    /// The cursor of a client of the feed; no other has one.
    var cursor: FeedCursor {
        get {
            guard case .feed(let cursor) = position else {
                preconditionFailure("a source of the app's own has no cursor of a feed")
            }
            return cursor
        }
        set { position = .feed(newValue) }
    }

    /// The newest batch of the feed that was checked; 0 before the first, and for other sources.
    var sequence: UInt64 {
        if case .feed(let cursor) = position { cursor.sequence } else { 0 }
    }

    /// Seconds between two polls, as the newest head or the app asks; 0 when neither did.
    var pollSeconds: UInt32 {
        if case .feed(let cursor) = position, cursor.newestIssued == nil { return 0 }
        return directives.settings.pollSeconds
    }

    var directives: FeedDirectives {
        switch position {
        case .feed(let cursor): FeedDirectives(settings: cursor.settings, seen: directivesSeen)
        case .app(_, let settings): FeedDirectives(settings: settings, seen: directivesSeen)
        }
    }

    /// Records that an occasion lasts, or with nil is over; returns the warning if it is new.
    mutating func mark(_ occasion: Warned, _ warning: Warning?) -> [Warning] {
        guard let warning else {
            warned.remove(occasion)
            return []
        }
        return warned.insert(occasion).inserted ? [warning] : []
    }
}

/// The publisher's settings for all clients, from the head with the highest `issued` ever verified.
/// Clamped: no feed can switch a client off for ever or make it ask more often.
struct FeedDirectives: Sendable, Equatable {
    var settings = FeedSettings()
    /// The time at which that head was first seen, by this device's clock: seconds since 1970.
    var seen: Int64 = 0

    static let longestPause: Int64 = 72 * 3600

    /// The upper bound of the random wait after a wake.
    var spread: Duration { .seconds(Int64(min(settings.spreadSeconds, 3600))) }
    /// The longest time that a cache on the way may serve an old head.
    var cache: Duration { .seconds(Int64(min(max(settings.cacheSeconds, 1), 3600))) }
    var isRetired: Bool { settings.flags.contains(.retired) }
    var mayRegister: Bool { settings.flags.isDisjoint(with: [.noRegistration, .retired]) }

    /// The end of the pause of wakes; nil when there is none. Counted by this device's clock from
    /// when the flag was first seen, so that a wrong clock cannot stretch it.
    func pausedUntil(now: Int64) -> Int64? {
        guard settings.flags.contains(.paused), now >= seen else { return nil }
        let end = seen + min(Int64(settings.pauseSeconds), Self.longestPause)
        return now < end ? end : nil
    }
}

/// The rule of when to warn of silence and of lasting trouble, counted from the last verified head
/// and never from the last wake: a service that wakes and a feed that is dead look alike otherwise.
struct FeedHealth: Sendable, Equatable {
    /// Days without a verified head, each warned of once.
    static let silenceDays = [2, 7]
    /// Seconds of nothing but trouble before a warning.
    static let lastingTrouble: Int64 = 24 * 3600

    /// A refusal of heads that lasts.
    enum Trouble: Int64, Sendable, Equatable {
        case badFeed = 1
        case rollback = 2
    }

    /// Seconds since 1970: the last verified head, or the first start.
    private(set) var verified: Int64
    /// `verified` is of a head.
    private(set) var hasVerified = false
    private(set) var warnedDays = 0
    private(set) var trouble: Trouble?
    private(set) var troubleSince: Int64 = 0
    private(set) var hasWarnedOfTrouble = false

    mutating func headVerified(now: Int64) { self = FeedHealth(verified: now, hasVerified: true) }

    /// A head was refused. A change of its kind does not restart the day.
    mutating func headRefused(_ kind: Trouble, now: Int64) -> Warning? {
        // A clock that was set back restarts the day; it would last for as long as it was set.
        if trouble == nil || now < troubleSince { troubleSince = now }
        trouble = kind
        guard !hasWarnedOfTrouble, now - troubleSince >= Self.lastingTrouble else { return nil }
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
