import WakeFeed

/// All that is remembered about the source and its cycles, one row.
struct FeedRecord: Sendable, Equatable {
    /// How far what is published was checked.
    enum Position: Sendable, Equatable {
        case feed(FeedCursor)
        /// The app's own cursor, nil before the first page, and what the app asks for.
        case own(DataCursor?, FeedSettings)
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
    /// When the head with the highest `issued` was first seen, seconds since 1970.
    var ordersSeen: Int64 = 0
    var watch: Watch
    /// A fork was seen: the cursor moves no more.
    var isForked = false
    var warned: Warned = []
    /// The generation of the app's secrets that everything retained was checked against.
    var generation: UInt64?

    /// Of a client of the feed; no other has one.
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

    /// Seconds between two polls, as the newest head or the app asks; 0 when nobody did.
    var pollSeconds: UInt32 {
        switch position {
        case .feed(let cursor): cursor.newestIssued == nil ? 0 : cursor.settings.pollSeconds
        case .own(_, let settings): settings.pollSeconds
        }
    }

    var orders: PublisherOrders {
        switch position {
        case .feed(let cursor): PublisherOrders(settings: cursor.settings, seen: ordersSeen)
        case .own(_, let settings): PublisherOrders(settings: settings, seen: ordersSeen)
        }
    }
}
