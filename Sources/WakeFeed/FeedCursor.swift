/// What a client keeps of a feed: how far it has checked, and whom it trusts.
///
/// Only `HeadVerifier` and `BatchReader` move it. Store it with the matches it stands for, in one
/// transaction.
public struct FeedCursor: Sendable, Equatable {
    /// A key that may sign from a sequence on.
    struct AcceptedKey: Equatable {
        let key: FeedKey
        let from: UInt64
        /// Announced by a head and not used yet: a newer head may withdraw it.
        var isPending: Bool
    }

    /// The feed it belongs to.
    public let feedID: FeedID
    /// Number of the last batch that was verified and checked; 0 before the first.
    public internal(set) var sequence: UInt64
    /// Header hash of that batch; nil when that batch was never seen (a new client, or a gap).
    public internal(set) var headerHash: HeaderHash?
    /// The highest `issued` of any head verified, seconds since 1970; nil before the first.
    public internal(set) var newestIssued: Int64?
    /// What that head asked for.
    public internal(set) var settings: FeedSettings
    /// Oldest first; never empty.
    var keys: [AcceptedKey]

    /// A client that has seen nothing yet.
    /// - Parameters:
    ///   - key: the first key the feed was signed with, which names it.
    ///   - successors: keys that took its place since, oldest first; at most 6.
    public init(key: FeedKey, successors: [FeedKey] = []) {
        precondition(successors.count <= FeedLimits.acceptedKeys - 2)
        feedID = key.feedID
        sequence = 0
        headerHash = HeaderHash.none
        newestIssued = nil
        settings = FeedSettings()
        keys = ([key] + successors).map { AcceptedKey(key: $0, from: 0, isPending: false) }
    }

    init(
        feedID: FeedID, sequence: UInt64, headerHash: HeaderHash?, newestIssued: Int64?,
        settings: FeedSettings, keys: [AcceptedKey]
    ) {
        self.feedID = feedID
        self.sequence = sequence
        self.headerHash = headerHash
        self.newestIssued = newestIssued
        self.settings = settings
        self.keys = keys
    }

    /// The keys heads and batches are accepted from, oldest first.
    public var acceptedKeys: [FeedKey] { keys.map(\.key) }

    /// Whether a key may sign something of this number.
    func accepts(_ key: FeedKey, at sequence: UInt64) -> Bool {
        keys.contains { $0.key == key && $0.from <= sequence }
    }

    /// Takes over what a verified head says about clients and keys, unless a newer head was
    /// verified before.
    mutating func adopt(_ head: FeedHead, signedBy signer: FeedKey) {
        if let newestIssued, head.issued < newestIssued { return }
        newestIssued = head.issued
        settings = head.settings
        for index in keys.indices where keys[index].key == signer {
            keys[index].isPending = false
        }
        keys.removeAll { $0.isPending && $0.key != head.nextKey }
        if let next = head.nextKey, !keys.contains(where: { $0.key == next }),
            keys.count < FeedLimits.acceptedKeys
        {
            keys.append(AcceptedKey(key: next, from: head.sequence + 1, isPending: true))
        }
    }

    /// Once everything up to a head was checked, keys older than its signer have done their work.
    mutating func retireKeys(olderThan signer: FeedKey) {
        guard let index = keys.firstIndex(where: { $0.key == signer }) else { return }
        keys.removeFirst(index)
    }
}
