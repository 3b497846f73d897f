public import WakeSystem

/// The addresses of the feed and the service, and the directories of one profile.
public struct ClientConfiguration: Sendable, Redacted {
    /// The way wakes arrive.
    public enum Channel: Sendable, Equatable {
        /// The service's anonymous event stream, with polling underneath.
        case stream
        /// Polling alone.
        case poll
    }

    /// A SOCKS5 proxy that also resolves names, such as Tor. Registration, feed and stream use
    /// separate credentials, hence separate circuits.
    public struct Proxy: Sendable, Equatable {
        /// Host name or address.
        public var host: String
        /// TCP port.
        public var port: UInt16

        /// A proxy at `host` and `port`.
        public init(host: String, port: UInt16) {
            self.host = host
            self.port = port
        }
    }

    /// The directory that holds the feed's `head`: https, or http on loopback and onion services.
    public var feed: String
    /// One of the feed's public keys, best the newest: 43 characters of base64url. The client
    /// finds the keys that followed it, and never goes back before it.
    public var feedKey: String
    /// The service's address, without path; nil when there is only a feed.
    public var service: String?
    /// A relay of Oblivious HTTP (RFC 9458) that registrations go through, so that the service does
    /// not learn the address of who registers; nil: directly. Run by somebody else than the
    /// service. Then there is no other way: without a key that the feed's head names nothing is
    /// sent. A client that has seen no such head yet fetches the newest one before it registers.
    public var oblivious: String?
    /// The way wakes arrive.
    public var channel: Channel
    /// A directory for this profile alone; made with mode 0700 when it is not there.
    public var stateDirectory: String
    /// A directory for fetched batches; may be lost at any time.
    public var cacheDirectory: String
    /// The only way out, when set.
    public var proxy: Proxy?
    /// Bytes of heads and batches a day (UTC), at least 262,144; nil for no limit. Heads are always
    /// fetched; a batch that does not fit waits. TLS, HTTP, stream, registrations are not counted.
    public var dailyByteBudget: Int?
    /// Bytes of batches that are kept for secrets added later; the oldest make room for newer ones.
    public var cacheCapacity: Int
    /// The text of a policy (C2SP tlog-policy): a head is believed only when so many of its
    /// witnesses have cosigned the feed's log of heads. nil: the feed's signature is enough.
    public var witnesses: String?

    /// A configuration; nothing is checked before `WakeClient.init`.
    public init(
        feed: String, feedKey: String, service: String? = nil, oblivious: String? = nil,
        channel: Channel = .poll, stateDirectory: String, cacheDirectory: String,
        proxy: Proxy? = nil, dailyByteBudget: Int? = nil, cacheCapacity: Int = 64 << 20,
        witnesses: String? = nil
    ) {
        self.feed = feed
        self.feedKey = feedKey
        self.service = service
        self.oblivious = oblivious
        self.channel = channel
        self.stateDirectory = stateDirectory
        self.cacheDirectory = cacheDirectory
        self.proxy = proxy
        self.dailyByteBudget = dailyByteBudget
        self.cacheCapacity = cacheCapacity
        self.witnesses = witnesses
    }

    /// Checks it as a client does, without making anything; throws `configuration`.
    public func check() throws(ClientError) { _ = try ServiceAddresses(self) }
}

/// The configuration of a client with a `DataSource`. Each profile needs its own directory.
public struct SourceConfiguration: Sendable, Redacted {
    /// A directory for this profile alone; made with mode 0700 when it is not there.
    public var stateDirectory: String
    /// The service's address, without path; nil when nothing but polling and the app wakes.
    public var service: String?
    /// The way wakes arrive.
    public var channel: ClientConfiguration.Channel
    /// The only way out to the service, when set. The source's own requests do not use it.
    public var proxy: ClientConfiguration.Proxy?
    /// The mean time between two polls, clamped to 15 minutes to 24 hours.
    public var pollInterval: Duration
    /// The upper bound of the random wait after a wake that comes to all clients; up to an hour.
    public var spread: Duration
    /// The time for which a delivered match is remembered after the source last brought it.
    public var retention: Duration
    /// The time limit of one call of the source.
    public var timeLimit: Duration

    /// A configuration; nothing is checked before `WakeClient.init`.
    public init(
        stateDirectory: String, service: String? = nil,
        channel: ClientConfiguration.Channel = .poll, proxy: ClientConfiguration.Proxy? = nil,
        pollInterval: Duration = .seconds(4 * 3600), spread: Duration = .seconds(300),
        retention: Duration = .seconds(14 * 86_400), timeLimit: Duration = .seconds(600)
    ) {
        self.stateDirectory = stateDirectory
        self.service = service
        self.channel = channel
        self.proxy = proxy
        self.pollInterval = pollInterval
        self.spread = spread
        self.retention = retention
        self.timeLimit = timeLimit
    }
}
