import WakeFeed

/// All that is remembered about the feed, one row.
struct FeedRecord: Sendable, Equatable {
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

    var cursor: FeedCursor
    /// When the head with the highest `issued` was first seen, seconds since 1970.
    var ordersSeen: Int64 = 0
    var watch: Watch
    /// A fork was seen: the cursor moves no more.
    var isForked = false
    var warned: Warned = []
    /// The generation of the app's secrets that every retained batch was checked against.
    var generation: UInt64?

    var orders: PublisherOrders {
        PublisherOrders(settings: cursor.settings, seen: ordersSeen)
    }
}
