/// What a publisher asks of every client alike.
public struct FeedFlags: OptionSet, Sendable, Hashable {
    /// The bits as they stand in the head.
    public let rawValue: UInt32

    /// Keeps bits this version has no word for.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Wake-ups are to be ignored for `pauseSeconds`; polling goes on.
    public static let paused = FeedFlags(rawValue: 1)
    /// The feed has ended: clients unregister and stop.
    public static let retired = FeedFlags(rawValue: 2)
    /// Clients do not send push tokens.
    public static let noRegistration = FeedFlags(rawValue: 4)
}

/// The part of a head that steers clients. It is taken only from the head with the highest
/// `issued` that was ever verified, so that an old head cannot bring back an old wish.
public struct FeedSettings: Sendable, Hashable {
    /// Seconds between two polls.
    public var pollSeconds: UInt32
    /// Longest random wait of a client after a wake-up, seconds.
    public var spreadSeconds: UInt32
    /// Wishes that are on or off.
    public var flags: FeedFlags
    /// How long `paused` holds, seconds.
    public var pauseSeconds: UInt32
    /// Clients below this version should ask their user for an update.
    public var minimumClientVersion: UInt32
    /// Seconds caches between publisher and client may keep a head.
    public var cacheSeconds: UInt32

    /// A feed without wishes: polled every four hours, wake-ups spread over five minutes.
    public init(
        pollSeconds: UInt32 = 14_400, spreadSeconds: UInt32 = 300, flags: FeedFlags = [],
        pauseSeconds: UInt32 = 0, minimumClientVersion: UInt32 = 0, cacheSeconds: UInt32 = 30
    ) {
        self.pollSeconds = pollSeconds
        self.spreadSeconds = spreadSeconds
        self.flags = flags
        self.pauseSeconds = pauseSeconds
        self.minimumClientVersion = minimumClientVersion
        self.cacheSeconds = cacheSeconds
    }

    /// How long to wait, in seconds, before looking again at an edge known to be stale: from
    /// `cacheSeconds` to `cacheSeconds + spreadSeconds`, evenly random.
    public var staleEdgeWait: ClosedRange<UInt64> {
        UInt64(cacheSeconds)...UInt64(cacheSeconds) + UInt64(spreadSeconds)
    }
}
