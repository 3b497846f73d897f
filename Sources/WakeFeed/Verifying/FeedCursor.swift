import WakeBytes
private import WakeCrypto

/// A client's state of a feed: the last batch it checked, and the keys it trusts. `HeadVerifier` or
/// `BatchReader` advances it. Store it in one transaction with the matches up to it.
public struct FeedCursor: Sendable, Equatable {
    /// The feed it belongs to.
    public var feedID: FeedID { chain.feedID }
    /// Number of the last batch that was verified and searched; 0 before the first.
    public internal(set) var sequence: UInt64 = 0
    /// Header hash of that batch; nil when that batch was never seen (a new client, or a gap).
    public internal(set) var headerHash: HeaderHash? = HeaderHash.none
    /// The highest `issued` of any verified head, seconds since 1970; nil before the first.
    public internal(set) var newestIssued: Int64?
    /// The settings of that head.
    public internal(set) var settings = FeedSettings()
    /// The feed's keys, as far as they are known.
    public private(set) var chain: KeyChain
    /// The index of the key of the newest signer among heads; keys before it sign no head any more.
    private var signer = 0
    /// The key of that signer.
    var newestSigner: FeedKey { chain.links[signer].key }

    /// The keys that may sign from now on.
    var liveKeys: [FeedKey] { Array(chain.keys[signer...]) }

    /// The cursor of a new client that knows one of the feed's keys.
    public init(key: FeedKey) { self.init(chain: KeyChain(only: key)) }

    package init(chain: KeyChain) { self.chain = chain }

    /// The cursor of a client that begins again, and believes no key that it knows as retired.
    package func restarted() -> FeedCursor {
        var next = FeedCursor(chain: chain)
        next.signer = signer
        return next
    }

    /// The cursor with the feed's keys as they are offered, if the configured `key` is among them.
    /// What is known is never given up for what is offered, with one exception: a configured key
    /// that is not among the known ones outranks these.
    package func extended(by offered: KeyChain, for key: FeedKey) -> FeedCursor {
        guard offered.contains(key),
            newestIssued == nil || offered.feedID == feedID,
            !chain.contains(key) || offered.continues(chain)
        else { return self }
        var next = self
        next.chain = offered
        next.signer = offered.index(of: newestSigner) ?? 0
        return next
    }

    /// Verifies a head, with or without its proof, by itself: signature, feed, contents, signer. No
    /// key before `oldest` may have signed, and no key at all when that one is unknown.
    package func head(
        _ file: Span<UInt8>, since oldest: FeedKey? = nil
    ) throws(FeedError) -> (head: FeedHead, signer: Int) {
        let layout = try FeedHead.layout(of: file)
        let bytes = file.extracting(0..<layout.count)
        let first = oldest.map { chain.index(of: $0) ?? chain.links.count } ?? 0
        // Before the signature is verified, no byte may choose another code than `.badSignature`.
        let key = try layout.signer(of: bytes, among: Array(chain.keys[max(signer, first)...]))
        guard FeedHead.feedID(in: bytes) == feedID else { throw .wrongFeed }
        let head = try FeedHead(signed: bytes)
        guard let index = chain.index(of: key), chain.maySign(index, headAt: head.sequence) else {
            throw .badSignature
        }
        return (head, index)
    }

    /// Verifies a batch's header by itself: signature, contents, feed, number unless nil, signer.
    func header(_ bytes: Span<UInt8>, of sequence: UInt64? = nil) throws(FeedError) -> BatchHeader {
        let key = try BatchHeader.layout.signer(of: bytes, among: chain.keys)
        let header = try BatchHeader(signed: bytes)
        guard header.feedID == feedID else { throw .wrongFeed }
        guard header.sequence == sequence ?? header.sequence else { throw .corruptBatch(.sequence) }
        guard chain.signer(ofBatch: header.sequence) == key else { throw .badSignature }
        return header
    }

    /// Adopts a verified head's signer, and its settings unless a newer head was verified before.
    package mutating func adopt(_ head: FeedHead, signedBy index: Int) {
        signer = index
        if let newestIssued, head.issued < newestIssued { return }
        newestIssued = head.issued
        settings = head.settings
    }

    /// The cursor after a batch, or at a head.
    func advanced(to sequence: UInt64, _ hash: HeaderHash?) -> FeedCursor {
        var next = self
        next.sequence = sequence
        next.headerHash = hash
        return next
    }
}

/// The cursor as bytes: fixed fields, then the keys.
extension FeedCursor {
    private static let magic: StaticString = "WAKECU03"
    /// Everything before the keys, bytes.
    package static let fixedBytes = 8 + 8 + 1 + 32 + 1 + 8 + FeedSettings.byteCount + 1 + 1
    /// A key and the number of the first batch that it signs.
    package static let keyBytes = 32 + 8

    /// The cursor as bytes to be stored.
    public func encode() -> [UInt8] {
        var bytes = Self.magic.bytes
        bytes.reserveCapacity(Self.fixedBytes + chain.links.count * Self.keyBytes)
        bytes.append(littleEndian: sequence)
        bytes.append(headerHash == nil ? 0 : 1)
        bytes += (headerHash ?? .none).bytes
        bytes.append(newestIssued == nil ? 0 : 1)
        bytes.append(littleEndian: UInt64(newestIssued ?? 0))
        bytes += settings.bytes
        bytes += [UInt8(signer), UInt8(chain.links.count)]
        for link in chain.links {
            bytes += link.key.bytes
            bytes.append(littleEndian: link.from)
        }
        return bytes
    }

    /// - Parameter bytes: the result of `encode`; nil for anything else.
    public init?(decoding bytes: [UInt8]) {
        let span = bytes.span
        guard span.count > Self.fixedBytes, span.extracting(0..<8).equals(Self.magic),
            span.count == Self.fixedBytes + Int(span[Self.fixedBytes - 1]) * Self.keyBytes,
            let hash = Self.optional(span, at: 16, count: 32),
            let issued = Self.optional(span, at: 49, count: 8), let links = Self.links(in: span)
        else { return nil }
        chain = KeyChain(links)
        signer = Int(span[Self.fixedBytes - 2])
        sequence = span.littleEndian(at: 8)
        headerHash = hash.map { HeaderHash($0.span) }
        newestIssued = issued.map { Int64(bitPattern: $0.span.littleEndian(at: 0)) }
        settings = FeedSettings(span.extracting(58..<58 + FeedSettings.byteCount))
        guard sequence < UInt64(Int64.max), newestIssued ?? 0 >= 0, signer < links.count else {
            return nil
        }
    }

    /// A byte, 0 or 1, that says whether a value or zeros follow; nil for anything else.
    private static func optional(_ span: Span<UInt8>, at offset: Int, count: Int) -> [UInt8]?? {
        let range = offset + 1..<offset + 1 + count
        switch span[offset] {
        case 0: return span.isZero(range) ? .some(nil) : nil
        case 1: return span.extracting(range).array
        default: return nil
        }
    }

    private static func links(in span: Span<UInt8>) -> [KeyChain.Link]? {
        guard (1...FeedLimits.keys).contains(Int(span[fixedBytes - 1])) else { return nil }
        var links: [KeyChain.Link] = []
        for offset in stride(from: fixedBytes, to: span.count, by: keyBytes) {
            guard let key = FeedKey(bytes: span.extracting(offset..<offset + 32).array) else {
                return nil
            }
            links.append(.init(key: key, from: span.littleEndian(at: offset + 32)))
        }
        return links
    }
}
