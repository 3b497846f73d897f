import WakeFeed

/// What a cycle looks at. Wakes, coalescing, jitter, back-off, outbox, registration and warnings of
/// silence know nothing of the difference.
enum CycleSource: Sendable {
    /// The signed feed that is built in.
    case feed(FeedSource)
    /// What the app publishes in a format of its own.
    case own(OwnSource)

    /// Where a client that has seen nothing yet begins.
    var start: FeedRecord.Position {
        switch self {
        case .feed(let feed): .feed(FeedCursor(key: feed.addresses.key))
        case .own(let own): .own(nil, own.settings)
        }
    }

    /// What was stored, as far as it belongs to this source.
    /// - Returns: nil when it belongs to another feed, or to a source of the other kind.
    func adopt(_ position: FeedRecord.Position) -> FeedRecord.Position? {
        switch (self, position) {
        case (.feed(let feed), .feed(let cursor)):
            cursor.feedID == feed.addresses.key.feedID ? position : nil
        case (.own(let own), .own(let cursor, _)): .own(cursor, own.settings)
        case (.feed, .own), (.own, .feed): nil
        }
    }
}
