/// Why bytes of a feed were refused. Nothing of what was refused is used, and the cursor stays.
public enum FeedError: Error, Equatable, Sendable {
    /// Fewer bytes than there should be: fetch the rest.
    case truncated
    /// More bytes than the head, or the batch by its own header, may have.
    case tooLarge
    /// Not signed by a key of this feed: tampering, another key, or no feed at all (a captive
    /// portal's page).
    case badSignature
    /// Rightly signed, for another feed.
    case wrongFeed
    /// Older than what was already verified: a stale cache, or someone holding news back.
    case rollback(stored: UInt64, offered: UInt64)
    /// Two different batches were signed under one number: the publisher showed others another
    /// feed. Permanent; both are evidence.
    case fork(sequence: UInt64)
    /// Rightly signed, but not what this version of the format allows.
    case malformedHead(HeadFault)
    /// A batch that is not what its header, or the head, says.
    case corruptBatch(BatchFault)
}

/// What is wrong with a head that carries a right signature.
public enum HeadFault: Sendable, Equatable {
    /// Bytes that must be zero are not.
    case reservedBytes
    /// A number beyond what the format holds.
    case range
    /// The table and the numbers around it contradict each other.
    case table
    /// The announced next key is no key.
    case nextKey
}

/// What is wrong with a batch.
public enum BatchFault: Sendable, Equatable {
    /// Bytes of the header that must be zero are not.
    case reservedBytes
    /// Digest count, width, kind or note size outside the format.
    case shape
    /// A batch of another number than the one asked for.
    case sequence
    /// `payloadBytes` contradicts count and widths.
    case size
    /// The payload's hash is another than the header's.
    case payloadHash
    /// Digests are not strictly ascending.
    case order
}

/// What a client should tell while it goes on using the data.
public enum FeedWarning: Sendable, Equatable {
    /// The head expired: the publisher is silent, or someone holds newer heads back.
    /// Seconds since 1970.
    case stale(expired: Int64)
    /// The head comes from the future: one of the two clocks is wrong. Seconds since 1970.
    case clockSkew(issued: Int64)
    /// Batches that are not retained any more: what was published in them cannot be checked.
    case gap(missing: ClosedRange<UInt64>)
}
