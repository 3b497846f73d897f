import Synchronization
import WakeFeed
package import WakeFetch
import WakeSystem

/// The newest sequence of the feed that wake-ups announce, and when it is worth a broadcast.
final class FeedMonitor: Sendable {
    private let files: FeedFileServer
    /// Instead of the service's own feed directory.
    private let remote: RemoteFeedHead?
    private let isOn: Bool
    private let cacheSeconds: Int
    /// The last sequence, and when caches no longer hold the head before it.
    private let seen = Mutex((sequence: UInt64(0), fresh: ContinuousClock.now))
    /// Of the feed elsewhere; 0 before it was read.
    private let remoteSequence = Atomic<UInt64>(0)

    /// - Parameter cacheSeconds: for which a cache may answer with the head before.
    init(_ files: FeedFileServer, remote: RemoteFeedHead? = nil, isOn: Bool, cacheSeconds: Int) {
        self.files = files
        self.remote = remote
        self.isOn = isOn
        self.cacheSeconds = cacheSeconds
    }

    func sequence() -> UInt64 {
        remote == nil ? files.sequence : remoteSequence.load(ordering: .relaxed)
    }

    func run(_ log: Log) async {
        guard let remote else { return }
        var isReadable = true
        while !Task.isCancelled {
            if let sequence = await remote.sequence() {
                remoteSequence.store(sequence, ordering: .relaxed)
                isReadable = true
            } else if isReadable {
                log(.feedUnreadable)
                isReadable = false
            }
            try? await Task.sleep(for: RemoteFeedHead.interval)
        }
    }

    /// The sequence that clients everywhere can see by now; nil when the monitor is off.
    func newSequence() -> UInt64? {
        guard isOn else { return nil }
        let sequence = sequence()
        let now = ContinuousClock.now
        return seen.withLock { seen in
            if sequence != seen.sequence {
                // A woken client that reads the old head would go back to sleep.
                seen = (sequence, now + .seconds(cacheSeconds))
            }
            return now >= seen.fresh && sequence > 0 ? sequence : nil
        }
    }
}

/// A feed on a server, fetched as a client would: bounded, without redirects.
package struct RemoteFeed: Sendable {
    private let base: FetchURL
    private let fetcher: Fetcher

    /// - Parameter text: the feed's address, without `head`.
    package init(_ text: String) throws(FetchError) {
        base = try FetchURL(text.hasSuffix("/") ? String(text.dropLast()) : text)
        fetcher = try Fetcher(FetchConfiguration())
    }

    /// Fetches one file of at most `limit` bytes.
    /// - Throws: `protocolViolation` for any status but 200.
    package func fetch(_ path: String, limit: Int) async throws(FetchError) -> [UInt8] {
        let request = FetchRequest(try base.appending(path), limit: limit, purpose: .feed)
        let (response, body) = try await fetcher.collect(request)
        guard response.status == 200 else { throw .protocolViolation }
        return body
    }
}

/// The head of a feed on a server. Only a signed one counts: no server can wake everybody.
struct RemoteFeedHead: Sendable {
    static let interval = Duration.seconds(60)

    private let feed: RemoteFeed
    private let key: FeedKey

    /// - Parameter text: the feed's address, without `head`; `key` is its public key, base64url.
    init(_ text: String, key: String) throws(WatchError) {
        guard let key = FeedKey(text: key) else { throw .key }
        self.key = key
        do throws(FetchError) {
            feed = try RemoteFeed(text)
        } catch {
            if case .libraryMissing = error { throw .libraryMissing }
            throw .address
        }
    }

    func sequence() async -> UInt64? {
        let bytes = try? await feed.fetch("head", limit: FeedLimits.headBytes)
        let verifier = HeadVerifier(cursor: FeedCursor(key: key))
        let now = Int64(SystemClock.wallSeconds)
        return bytes.flatMap { try? verifier.verify($0.span, now: now).head.sequence }
    }
}

package enum WatchError: String, Error {
    case key = """
        [broadcast] watch-key is not a feed's public key
        hint: 43 characters of base64url, as `reveille feed init` prints them
        """
    case address = """
        [broadcast] watch is not an address that can be fetched
        hint: on, off, or the https:// address of the feed's directory
        """
    case libraryMissing = """
        [broadcast] watch needs libcurl to poll a feed elsewhere
        hint: apt install libcurl4
        """

    package var message: String { rawValue }
}
