import Dispatch
import Synchronization
import WakeFeed
package import WakeFetch
import WakeModel
import WakeSystem

/// The newest sequence of the feed that wake-ups announce, and when it is worth a broadcast.
final class FeedMonitor: Sendable {
    private let files: FeedFileServer
    private struct Watch {
        /// Instead of the service's own feed directory.
        var remote: RemoteFeedHead?
        var isOn: Bool
        /// Of the feed elsewhere; nil before it was read.
        var head: RemoteFeedHead.Head?
        /// Whether the feed elsewhere was asked, whatever came of it.
        var isAsked = false
    }

    private let watch: Mutex<Watch>
    private let changed = AsyncEvent()
    private let cacheSeconds: Int
    /// The last sequence, and when caches no longer hold the head before it.
    private let seen = Mutex((sequence: UInt64(0), fresh: ContinuousClock.now))
    /// The keys of the feed elsewhere.
    private let file: StateFile<WatchedFeed>?
    /// Reading and writing block.
    private let queue = DispatchQueue(label: "watched-feed")

    /// - Parameter cacheSeconds: for which a cache may answer with the head before.
    init(
        _ files: FeedFileServer, remote: RemoteFeedHead? = nil,
        file: StateFile<WatchedFeed>? = nil, isOn: Bool, cacheSeconds: Int
    ) {
        self.files = files
        watch = Mutex(Watch(remote: remote, isOn: isOn))
        self.file = file
        self.cacheSeconds = cacheSeconds
    }

    func sequence() -> UInt64 {
        watch.withLock { $0.remote == nil ? files.sequence : $0.head?.sequence ?? 0 }
    }

    /// The newest head's; nil while none can be read.
    var head: FeedHeadTimes? {
        watch.withLock { $0.remote == nil ? files.times : $0.head?.times }
    }

    /// Whether a feed elsewhere has not answered yet, nor failed to.
    var isFirstAwaited: Bool { watch.withLock { $0.remote != nil && !$0.isAsked } }

    /// Watches another feed from now on, or none. The same one is watched further.
    func change(to remote: RemoteFeedHead?, isOn: Bool) {
        watch.withLock { watch in
            watch.isOn = isOn
            if let remote, let former = watch.remote, remote.isSame(as: former) { return }
            watch.remote = remote
            watch.head = nil
            watch.isAsked = false
        }
        changed.signal()
    }

    /// When clients heed wake-ups again, seconds since 1970; nil when they do.
    var pausedUntil: Int64? {
        head?.pausedUntil.flatMap { $0 > Int64(SystemClock.wallSeconds) ? $0 : nil }
    }

    func run(_ log: Log) async {
        while !Task.isCancelled {
            if let remote = watch.withLock({ $0.remote }) {
                await follow(remote, log)
            } else {
                await changed.wait()
            }
        }
    }

    /// Reads the head of a feed elsewhere again and again, as long as that one is watched.
    private func follow(_ remote: RemoteFeedHead, _ log: Log) async {
        // A damaged file is one that is not there: the configured key is what remains.
        var kept = await onQueue { try? $0.readIfPresent() }
        if let kept { remote.resume(kept) }
        var isReadable = true
        while !Task.isCancelled {
            let head = await remote.head()
            let isWatched = watch.withLock { watch in
                guard watch.remote === remote else { return false }
                watch.head = head ?? watch.head
                watch.isAsked = true
                return true
            }
            guard isWatched else { return }
            if head != nil {
                isReadable = true
                let known = remote.known
                if known != kept {
                    kept = await onQueue { (try? $0.write(known)) == nil ? nil : known }
                }
            } else if isReadable {
                log(.feedUnreadable)
                isReadable = false
            }
            await changed.wait { try? await Task.sleep(for: RemoteFeedHead.interval) }
        }
    }

    private func onQueue(
        _ body: @escaping @Sendable (StateFile<WatchedFeed>) -> WatchedFeed?
    ) async -> WatchedFeed? {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.file.flatMap(body)) }
        }
    }

    /// The sequence that clients everywhere can see by now; nil when the monitor is off.
    func newSequence() -> UInt64? {
        guard watch.withLock({ $0.isOn }) else { return nil }
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
final class RemoteFeedHead: Sendable {
    static let interval = Duration.seconds(60)

    private let feed: RemoteFeed
    private let address: String
    private let key: FeedKey
    /// Knows the keys that followed the configured one.
    private let cursor: Mutex<FeedCursor>

    /// - Parameter text: the feed's address, without `head`; `key` is its public key, base64url.
    init(_ text: String, key: String) throws(SetupError) {
        guard let key = FeedKey(text: key) else {
            throw SetupError(
                """
                [broadcast] watch-key is not a feed's public key
                hint: 43 characters of base64url, as `reveille feed init` prints them
                """)
        }
        self.key = key
        address = text
        cursor = Mutex(FeedCursor(key: key))
        do throws(FetchError) {
            feed = try RemoteFeed(text)
        } catch {
            if case .libraryMissing = error {
                throw SetupError(
                    """
                    [broadcast] watch needs libcurl to poll a feed elsewhere
                    hint: apt install libcurl4
                    """)
            }
            throw SetupError(
                """
                [broadcast] watch is not an address that can be fetched
                hint: on, off, or the https:// address of the feed's directory
                """)
        }
    }

    func isSame(as other: RemoteFeedHead) -> Bool {
        address == other.address && key == other.key
    }

    struct Head: Sendable {
        let sequence: UInt64
        let times: FeedHeadTimes
    }

    /// The keys that are known, and which of them sign no head any more.
    var known: WatchedFeed { WatchedFeed(cursor.withLock { $0 }) }

    /// Adopts what an earlier process knew, if it is of the feed with the configured key.
    func resume(_ known: WatchedFeed) {
        guard known.cursor.chain.contains(key) else { return }
        cursor.withLock { $0 = known.cursor }
    }

    func head() async -> Head? {
        guard let bytes = try? await feed.fetch("head", limit: FeedLimits.headFileBytes) else {
            return nil
        }
        let verifier = HeadVerifier(cursor: cursor.withLock { $0 }, key: key)
        var keys: [UInt8]?
        if verifier.needsKeys(for: bytes.span) {
            keys = try? await feed.fetch("keys", limit: FeedLimits.keysBytes)
        }
        let now = Int64(SystemClock.wallSeconds)
        guard let verified = try? verifier.verify(bytes.span, keys: keys, now: now)
        else { return nil }
        cursor.withLock { $0 = verified.cursor }
        let head = verified.head
        return Head(
            sequence: head.sequence,
            times: FeedHeadTimes(
                issued: head.issued, expires: head.expires, pausedUntil: head.pausedUntil))
    }
}

/// The keys of a watched feed, on disk: after a restart a retired key is not believed again.
struct WatchedFeed: StateRecord, Equatable {
    static var format: StaticString { "watched-feed" }
    static var version: Int { 1 }
    static var byteLimit: Int { 4096 }

    /// Without any time.
    let cursor: FeedCursor

    init(_ cursor: FeedCursor) { self.cursor = cursor.restarted() }

    func encode(to state: inout JSONText) {
        let bytes = cursor.encode()
        let (fixed, keys) = (FeedCursor.fixedBytes, FeedCursor.keyBytes)
        state.member("cursor", string: Base64URL.encode(Array(bytes[..<fixed]).span).span)
        state.beginArray("keys")
        for start in stride(from: fixed, to: bytes.count, by: keys) {
            state.beginObject()
            state.member(
                "key", string: Base64URL.encode(Array(bytes[start..<start + keys]).span).span)
            state.endObject()
        }
        state.endArray()
    }

    init(decoding state: inout StateObject) throws(StateDamage) {
        var texts = [try state.text("cursor")]
        for var key in try state.objects("keys") {
            texts.append(try key.text("key"))
            guard key.isEmpty else { throw StateDamage() }
        }
        var bytes: [UInt8] = []
        for text in texts {
            guard let part = Base64URL.decode(text.span) else { throw StateDamage() }
            bytes += part
        }
        guard let cursor = FeedCursor(decoding: bytes), cursor == cursor.restarted()
        else { throw StateDamage() }
        self.cursor = cursor
    }
}
