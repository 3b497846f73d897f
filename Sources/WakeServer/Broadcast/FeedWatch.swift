import Synchronization

/// The feed that wake-ups are for: its newest sequence, and when that is worth a broadcast.
final class FeedWatch: Sendable {
    private struct Seen {
        var sequence: UInt64 = 0
        /// Caches may hold the head before it until then.
        var fresh = ContinuousClock.now
    }

    private let site: FeedSite
    private let remote: RemoteHead?
    private let isOn: Bool
    private let cacheSeconds: Int
    private let seen = Mutex(Seen())
    /// Of the feed elsewhere; 0 before it was seen.
    private let remoteSequence = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - remote: watched instead of the site's directory.
    ///   - isOn: whether a new sequence starts a broadcast by itself.
    ///   - cacheSeconds: how long a cache in front of the feed may answer with the head before.
    init(_ site: FeedSite, remote: RemoteHead? = nil, isOn: Bool, cacheSeconds: Int) {
        self.site = site
        self.remote = remote
        self.isOn = isOn
        self.cacheSeconds = cacheSeconds
    }

    /// The newest sequence; 0 without a feed.
    func sequence() -> UInt64 {
        remote == nil ? site.sequence : remoteSequence.load(ordering: .relaxed)
    }

    /// Looks at a feed elsewhere until the task is cancelled.
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
            try? await Task.sleep(for: .seconds(RemoteHead.interval))
        }
    }

    /// The sequence that clients everywhere can see by now; nil when nobody watches.
    func newSequence() -> UInt64? {
        guard isOn else { return nil }
        let sequence = sequence()
        let now = ContinuousClock.now
        return seen.withLock { seen in
            if sequence != seen.sequence {
                // A woken client that reads the old head would go back to sleep.
                seen = Seen(sequence: sequence, fresh: now + .seconds(cacheSeconds))
            }
            return now >= seen.fresh && sequence > 0 ? sequence : nil
        }
    }
}
