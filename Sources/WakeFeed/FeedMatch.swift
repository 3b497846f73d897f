internal import WakeModel
private import WakeSodium

/// The name of a match: BLAKE2b-128 of feed, secret and note. Not of the digest: the same item
/// published twice, salted or not, is told to the user once.
public struct MatchID: Sendable, Hashable {
    /// 16 bytes.
    public let bytes: [UInt8]

    /// - Parameter bytes: 16 bytes, as stored.
    /// - Returns: nil for another length.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    init(feedID: FeedID, secret: SecretBytes, note: [UInt8]?) {
        let hash = Blake2b(count: 16)
        hash.update(feedID.bytes.span)
        secret.withSpan { hash.update($0) }
        if let note { hash.update(note.span) }
        bytes = hash.finish()
    }

    /// 32 lower-case hexadecimal digits.
    public var text: String {
        String(decoding: Hex.encode(bytes.span), as: UTF8.self)
    }
}

/// A published digest that belongs to a local secret.
public struct FeedMatch: Sendable, Equatable {
    /// Stays the same when the item is published again.
    public let matchID: MatchID
    /// Which of the local secrets.
    public let secretID: String
    /// What the publisher wrote for the holders of the secret; nil without a note.
    public let note: [UInt8]?
    /// The batch it was found in.
    public let sequence: UInt64
}

extension FeedMatch: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Says nothing of what it holds.
    public var description: String { "(match)" }
    /// Says nothing of what it holds.
    public var debugDescription: String { description }
    /// Shows nothing of what it holds.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
