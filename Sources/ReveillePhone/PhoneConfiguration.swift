public import Foundation
public import WakeBytes
import WakeFeed

/// The addresses of the feed and the service, and the directory of a client's state.
public struct PhoneConfiguration: Sendable, Redacted {
    /// The directory that holds the feed's `head`: https, or http on loopback.
    public var feed: URL
    /// One of the feed's public keys, best the newest: 43 characters of base64url. The client
    /// finds the keys that followed it, and never goes back before it.
    public var feedKey: String
    /// The service's address, without path; nil when there is only a feed.
    public var service: URL?
    /// A directory for this client alone, best below Application Support; it is made when it is not
    /// there, and excluded from backups.
    public var stateDirectory: URL
    /// The text of a policy (C2SP tlog-policy): a head is believed only when so many of its
    /// witnesses have cosigned the feed's log of heads. nil: the feed's signature is enough.
    public var witnesses: String?

    /// A configuration; nothing is checked before `PhoneClient.init`.
    public init(
        feed: URL, feedKey: String, service: URL? = nil, stateDirectory: URL,
        witnesses: String? = nil
    ) {
        self.feed = feed
        self.feedKey = feedKey
        self.service = service
        self.stateDirectory = stateDirectory
        self.witnesses = witnesses
    }

    /// What a head is believed for.
    struct Trust: Sendable {
        let key: FeedKey
        /// nil: for the signature alone.
        let policy: WitnessPolicy?
    }

    func trust() throws(PhoneError) -> Trust {
        guard Self.isUsable(feed) else { throw .configuration(.feedURL) }
        guard service.map(Self.isUsable) ?? true else { throw .configuration(.serviceURL) }
        guard stateDirectory.isFileURL else { throw .configuration(.stateDirectory) }
        guard let key = FeedKey(text: feedKey) else { throw .configuration(.feedKey) }
        guard let witnesses else { return Trust(key: key, policy: nil) }
        guard let policy = try? WitnessPolicy(Array(witnesses.utf8)), policy.isSatisfiable else {
            throw .configuration(.witnesses)
        }
        return Trust(key: key, policy: policy)
    }

    /// https, or http on this device; without a user, a query and a fragment.
    private static func isUsable(_ url: URL) -> Bool {
        guard let host = url.host, !host.isEmpty, url.user == nil, url.query == nil,
            url.fragment == nil
        else { return false }
        let isLoopback = ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host)
        return url.scheme == "https" || url.scheme == "http" && isLoopback
    }
}
