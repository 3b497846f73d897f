import WakeBytes
internal import WakeCrypto

/// The keys that have signed a feed, in their order: the contents of the file `keys`. Each key but
/// the first has a record that the key before it and it itself have signed; the record of the first
/// key, which names the feed, has it in both places. Two keys never follow the same one.
public struct KeyChain: Sendable, Equatable {
    package struct Link: Sendable, Equatable {
        package let key: FeedKey
        /// Number of the first batch that it signs.
        package let from: UInt64
    }

    /// The feed whose first key is the first of these.
    public let feedID: FeedID
    /// Never empty.
    package let links: [Link]

    /// The keys, the first one first.
    public var keys: [FeedKey] { links.map(\.key) }
    /// The key that signs now.
    public var newest: FeedKey { links[links.count - 1].key }
    /// Number of the first batch that the newest key signs.
    package var newestFrom: UInt64 { links[links.count - 1].from }

    /// The chain of a client that knows no key but the configured one.
    package init(only key: FeedKey) { self.init([Link(key: key, from: 1)]) }

    init(_ links: [Link]) {
        feedID = links[0].key.feedID
        self.links = links
    }

    /// Whether it is one of the keys.
    public func contains(_ key: FeedKey) -> Bool { index(of: key) != nil }

    package func index(of key: FeedKey) -> Int? { links.firstIndex { $0.key == key } }

    /// The key that signs the batch of this number.
    func signer(ofBatch sequence: UInt64) -> FeedKey {
        (links.last { $0.from <= sequence } ?? links[0]).key
    }

    /// Whether a key may sign a head that ends there: up to the last batch that is its own.
    func maySign(_ index: Int, headAt sequence: UInt64) -> Bool {
        index + 1 == links.count || sequence < links[index + 1].from
    }

    /// Whether this has all keys of `other`, in that order and without another between them; the
    /// other chain may lack the first ones.
    package func continues(_ other: KeyChain) -> Bool {
        index(of: other.links[0].key).map { keys[$0...].starts(with: other.keys) } ?? false
    }
}

/// The file `keys`; offsets as in FEED.md.
extension KeyChain {
    package static let magic: StaticString = "WAKEKY01"
    package static let recordBytes = 256
    /// The record up to the signature of the key before.
    package static let consent = SignedLayout(
        magic: magic, domain: "wake-feed/succession/1\n", count: 184)
    /// The whole record.
    package static let acceptance = SignedLayout(
        magic: magic, domain: "wake-feed/acceptance/1\n", count: recordBytes)

    /// Reads and verifies the file.
    public init(_ bytes: Span<UInt8>) throws(FeedError) {
        guard bytes.count >= FeedLimits.keysBytes else { throw .truncated }
        guard bytes.count == FeedLimits.keysBytes else { throw .tooLarge }
        var links: [Link] = []
        var end = 0
        repeat {
            let record = bytes.extracting(end..<end + Self.recordBytes)
            links.append(try Self.link(record, after: links))
            end += Self.recordBytes
        } while end < bytes.count && !bytes.isZero(end..<end + Self.recordBytes)
        guard bytes.isZero(end..<bytes.count) else { throw .malformedKeys }
        self.init(links)
    }

    private static func link(_ record: Span<UInt8>, after links: [Link]) throws(FeedError) -> Link {
        guard let key = FeedKey(bytes: record.extracting(64..<96).array) else {
            throw .badSignature
        }
        // The first key precedes itself.
        let before = links.last?.key ?? key
        _ = try acceptance.signer(of: record, among: [key])
        _ = try consent.signer(of: record.extracting(0..<consent.count), among: [before])
        guard FeedID(record.extracting(8..<24)) == (links.first?.key ?? key).feedID else {
            throw .wrongFeed
        }
        let from: UInt64 = record.littleEndian(at: 24)
        let bounds = links.last.map { $0.from..<UInt64(Int64.max) } ?? 1..<2
        guard bounds.contains(from), record.extracting(32..<64).equals(before.bytes),
            record.isZero(96..<112), !links.contains(where: { $0.key == key })
        else { throw .malformedKeys }
        return Link(key: key, from: from)
    }
}
