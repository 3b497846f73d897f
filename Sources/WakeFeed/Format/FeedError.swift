/// The refusal of bytes of a feed. No refused byte is used, and the cursor stays.
public enum FeedError: Error, Equatable, Sendable {
    /// Fewer bytes than there should be: fetch the rest.
    case truncated
    /// More bytes than the head, or the batch by its own header, may have.
    case tooLarge
    /// Not signed by a key of this feed: changed, another key's, or no feed (a captive portal).
    case badSignature
    /// Correctly signed, for another feed.
    case wrongFeed
    /// Older than a head already verified: a stale cache, or an attacker who withholds heads.
    case rollback(stored: UInt64, offered: UInt64)
    /// Two batches under one number: the publisher showed others another feed. Permanent.
    case fork(sequence: UInt64)
    /// Correctly signed, but outside this version of the format.
    case malformedHead(HeadFault)
    /// Correctly signed keys that do not follow each other as the format says.
    case malformedKeys
    /// A batch that contradicts its header or the head.
    case corruptBatch(BatchFault)
}

extension FeedError {
    /// The fault, for operators.
    package var reason: String {
        switch self {
        case .truncated: "it is cut short"
        case .tooLarge: "it is longer than it may be"
        case .badSignature: "no key of this feed has signed it"
        case .wrongFeed: "it belongs to another feed"
        case .rollback(let stored, let offered):
            "it is older than one that was seen: \(offered), after \(stored)"
        case .fork(let sequence): "there are two batches of number \(sequence)"
        case .malformedHead, .malformedKeys: "it is signed, and not of this format"
        case .corruptBatch: "it contradicts its header or the head"
        }
    }
}

/// A fault in a correctly signed head.
public enum HeadFault: Sendable, Equatable {
    /// Bytes that must be zero are not.
    case reservedBytes
    /// A number beyond what the format holds.
    case range
    /// The table and the numbers around it contradict each other.
    case table
}

/// A fault in a batch.
public enum BatchFault: Sendable, Equatable {
    /// Bytes of the header that must be zero are not.
    case reservedBytes
    /// Digest count, false-match bits, kind or note size outside the format.
    case shape
    /// A batch of another number than the one asked for.
    case sequence
    /// `payloadBytes` is more or less than count, bits and notes can take.
    case size
    /// The payload's hash is another than the header's.
    case payloadHash
    /// The code of the digests has another number of values, one beyond their range, or does not
    /// end with its last byte.
    case code
}

/// A warning to users; the data is used all the same.
public enum FeedWarning: Sendable, Equatable {
    /// The publisher is silent, or newer heads are withheld. Seconds since 1970.
    case stale(expired: Int64)
    /// The head comes from the future: one of the two clocks is wrong. Seconds since 1970.
    case clockSkew(issued: Int64)
    /// Batches that are not retained any more: what was published in them cannot be checked.
    case gap(missing: ClosedRange<UInt64>)
}
