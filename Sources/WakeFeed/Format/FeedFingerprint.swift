import WakeSystem

/// A fingerprint for two people to compare whether they see the same feed: the sequence and eight
/// words for the first 128 bits of its header hash.
///
/// The words are proquints (arxiv.org/abs/0901.4016): 16 bits each, pronounceable, in any language.
/// With 128 bits nobody can prepare two feeds of one fingerprint.
public struct FeedFingerprint: Sendable, Hashable {
    /// Number of the newest batch.
    public let sequence: UInt64
    /// Eight words of five letters.
    public let words: [String]

    /// The fingerprint of a head.
    public init(_ head: FeedHead) {
        self.init(sequence: head.sequence, hash: head.headerHash)
    }

    /// The fingerprint of a client's cursor; nil before its first head.
    public init?(_ cursor: FeedCursor) {
        guard cursor.newestIssued != nil, let hash = cursor.headerHash else { return nil }
        self.init(sequence: cursor.sequence, hash: hash)
    }

    private init(sequence: UInt64, hash: HeaderHash) {
        self.sequence = sequence
        words = stride(from: 0, to: 16, by: 2).map {
            Self.word(UInt16(hash.bytes[$0]) << 8 | UInt16(hash.bytes[$0 + 1]))
        }
    }

    /// As in `1842 lusab-babad-gutih-tugad-mudof-sakat-dapuv-zusog`.
    public var text: String {
        "\(sequence) " + words.joined(separator: "-")
    }

    private static func word(_ bits: UInt16) -> String {
        let consonants = Array("bdfghjklmnprstvz")
        let vowels = Array("aiou")
        return String([
            consonants[Int(bits >> 12)], vowels[Int(bits >> 10 & 3)],
            consonants[Int(bits >> 6 & 15)], vowels[Int(bits >> 4 & 3)],
            consonants[Int(bits & 15)],
        ])
    }
}
