private import Synchronization

/// The local secrets of one cycle with what was derived from them: their digests are the same for
/// all unsalted batches of a width, so they are derived once for each.
public final class LocalSecretSet: Sendable {
    /// In the order they were given.
    public let secrets: [LocalSecret]
    private let unsalted = Mutex<[DigestWidth: Matcher]>([:])

    /// - Parameter secrets: what to look for; none is fine.
    public init(_ secrets: [LocalSecret]) {
        self.secrets = secrets
    }

    /// What a batch with this header is searched with.
    func matcher(for header: BatchHeader) -> Matcher {
        let width = header.width
        guard header.salt == nil else {
            return Matcher(secrets: secrets, width: width, salt: header.salt)
        }
        return unsalted.withLock { known in
            if let matcher = known[width] { return matcher }
            let matcher = Matcher(secrets: secrets, width: width, salt: nil)
            known[width] = matcher
            return matcher
        }
    }

    /// What a batch's reader found, in terms of secrets; ordered by digest, then by secret.
    func matches(of hits: [PayloadReader.Hit], in header: BatchHeader) -> [FeedMatch] {
        hits.flatMap { hit in
            hit.secrets.map { index in
                FeedMatch(secret: secrets[index], sealedNote: hit.sealedNote, in: header)
            }
        }
    }
}

extension FeedMatch {
    /// A note that does not open, because the publisher sealed none or for somebody else, takes
    /// nothing from the match: the digest was published.
    fileprivate init(secret: LocalSecret, sealedNote: [UInt8]?, in header: BatchHeader) {
        let note = sealedNote.flatMap { SealedNote.open($0, secret: secret.bytes) }
        self.init(
            matchID: MatchID(feedID: header.feedID, secret: secret.bytes, note: note),
            secretID: secret.id, note: note, sequence: header.sequence)
    }
}
