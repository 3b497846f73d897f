public import WakeBytes
package import WakeCrypto

/// A secret of this device, searched for in the feed. It never leaves the device.
public struct LocalSecret: Sendable, Redacted {
    /// The app's own name for it, returned with a match.
    public let id: String
    package let bytes: SecretBytes

    /// Copies 16 to 1024 bytes into memory that is wiped on release; nil for another length.
    public init?(id: String, bytes: Span<UInt8>) {
        guard FeedLimits.secretBytes.contains(bytes.count) else { return nil }
        self.init(id: id, bytes: SecretBytes(bytes))
    }

    package init(id: String, bytes: SecretBytes) {
        precondition(FeedLimits.secretBytes.contains(bytes.count))
        self.id = id
        self.bytes = bytes
    }
}

/// The local secrets of one cycle. Each secret is hashed once, and not for every batch.
public struct LocalSecretSet: Sendable {
    /// In the order they were given.
    public let secrets: [LocalSecret]
    /// By the secret's index.
    private let hashes: [SecretHash]

    /// Hashes the secrets, of which there may be none.
    public init(_ secrets: [LocalSecret]) {
        self.secrets = secrets
        hashes = secrets.map { SecretHash(of: $0.bytes) }
    }

    func matcher(for header: BatchHeader) -> Matcher {
        Matcher(digests: hashes.map { $0.digest(salt: header.salt) }, range: header.range)
    }

    /// The matches of a batch's hits, ordered by digest, then by secret.
    func matches(of hits: [PayloadReader.Hit], in header: BatchHeader) -> [FeedMatch] {
        hits.flatMap { hit in
            hit.secrets.map { index in
                let secret = secrets[index]
                // Without a note that opens it is still a match: the digest was published.
                let note = hit.sealedNote.flatMap { SealedNote.open($0, secret: secret.bytes) }
                return FeedMatch(
                    matchID: MatchID(feedID: header.feedID, secret: secret.bytes, note: note),
                    secretID: secret.id, note: note, sequence: header.sequence)
            }
        }
    }
}

/// The identity of a match, whatever the digest and its salt: a keyed BLAKE2b-128 of feed, length
/// of the secret, secret and note. No other secret with another note has the same bytes in a row.
public struct MatchID: Sendable, Hashable {
    /// 16 bytes.
    public let bytes: [UInt8]

    /// - Parameter bytes: 16 bytes, as stored; nil for another length.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    init(feedID: FeedID, secret: SecretBytes, note: [UInt8]?) {
        let hash = Blake2b(count: 16, key: Self.derivationKey.span)
        var start = feedID.bytes
        start.append(littleEndian: UInt16(secret.count))
        hash.update(start.span)
        secret.withSpan { hash.update($0) }
        if let note { hash.update(note.span) }
        bytes = hash.finish()
    }

    private static let derivationKey = Blake2b.hash("wake-feed/match/1")

    /// 32 lower-case hexadecimal digits.
    public var text: String { String(decoding: Hex.encode(bytes.span), as: UTF8.self) }
}

/// A published digest that belongs to a local secret.
public struct FeedMatch: Sendable, Equatable, Redacted {
    /// Stays the same when the item is published again.
    public let matchID: MatchID
    /// The `id` of the local secret.
    public let secretID: String
    /// The publisher's note to the holders of the secret; nil without one.
    public let note: [UInt8]?
    /// The batch with the digest.
    public let sequence: UInt64
}
