/// Where the feed and the service are, and where this profile keeps its state. Profiles share
/// nothing: give each its own directories.
public struct ClientConfiguration: Sendable {
    /// How the client learns that it should look.
    public enum Channel: Sendable, Equatable {
        /// The service's anonymous event stream, with polling underneath.
        case stream
        /// Polling alone.
        case poll
    }

    /// A SOCKS5 proxy that also resolves names, such as Tor. Registration, feed and stream use
    /// credentials of their own, hence circuits of their own.
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
    /// The feed's first public key: 43 characters of base64url.
    public var feedKey: String
    /// The service's address, without path; nil when there is only a feed.
    public var service: String?
    /// How the client learns that it should look.
    public var channel: Channel
    /// A directory for this profile alone; made with mode 0700 when it is not there.
    public var stateDirectory: String
    /// A directory for fetched batches; may be lost at any time.
    public var cacheDirectory: String
    /// The only way out, when set.
    public var proxy: Proxy?
    /// Bytes of heads and batches that a day (UTC) may bring, at least 262,144; nil for as many as
    /// there are. The head is always fetched; a batch that does not fit is continued another day.
    /// Not counted are what carries them (TLS, HTTP), the event stream and registrations, which
    /// are small.
    public var dailyByteBudget: Int?
    /// Bytes of batches that are kept for secrets added later; the oldest make room for newer ones.
    public var cacheCapacity: Int

    /// A configuration; nothing is checked before `WakeClient` takes it.
    public init(
        feed: String, feedKey: String, service: String? = nil, channel: Channel = .poll,
        stateDirectory: String, cacheDirectory: String, proxy: Proxy? = nil,
        dailyByteBudget: Int? = nil,
        cacheCapacity: Int = 64 << 20
    ) {
        self.feed = feed
        self.feedKey = feedKey
        self.service = service
        self.channel = channel
        self.stateDirectory = stateDirectory
        self.cacheDirectory = cacheDirectory
        self.proxy = proxy
        self.dailyByteBudget = dailyByteBudget
        self.cacheCapacity = cacheCapacity
    }
}

extension ClientConfiguration {
    /// Says whether a client would take it, without making anything.
    /// - Throws: `configuration`.
    public func check() throws(ClientError) {
        _ = try ServiceAddresses(self)
    }
}

extension ClientConfiguration: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Says nothing of addresses.
    public var description: String { "(client configuration)" }
    /// Says nothing of addresses.
    public var debugDescription: String { description }
    /// Shows nothing of addresses.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
