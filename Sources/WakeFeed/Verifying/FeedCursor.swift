private import WakeModel
import WakeSystem

/// A client's state of a feed: the last batch it checked, and the keys it trusts. `HeadVerifier` or
/// `BatchReader` advances it. Store it in one transaction with the matches up to it.
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
    /// Number of the last batch that was verified and searched; 0 before the first.
    public internal(set) var sequence: UInt64 = 0
    /// Header hash of that batch; nil when that batch was never seen (a new client, or a gap).
    public internal(set) var headerHash: HeaderHash? = HeaderHash.none
    /// The highest `issued` of any verified head, seconds since 1970; nil before the first.
    public internal(set) var newestIssued: Int64?
    /// The settings of that head.
    public internal(set) var settings = FeedSettings()
    /// Oldest first; never empty.
    var keys: [AcceptedKey]

    /// The cursor of a new client: the feed's first key, and at most 6 successors, oldest first.
    public init(key: FeedKey, successors: [FeedKey] = []) {
        precondition(successors.count <= FeedLimits.acceptedKeys - 2)
        feedID = key.feedID
        keys = ([key] + successors).map { AcceptedKey(key: $0, from: 0, isPending: false) }
    }

    /// The keys that may sign heads and batches, oldest first.
    public var acceptedKeys: [FeedKey] { keys.map(\.key) }

    private func accepts(_ key: FeedKey, at sequence: UInt64) -> Bool {
        keys.contains { $0.key == key && $0.from <= sequence }
    }

    /// Verifies a head's bytes by themselves: signature, feed, contents, signer.
    func head(_ bytes: Span<UInt8>) throws(FeedError) -> (head: FeedHead, signer: FeedKey) {
        // Before the signature is verified, no byte may choose another code than `.badSignature`.
        let signer = try FeedHead.layout.signer(of: bytes, among: acceptedKeys)
        guard FeedHead.feedID(in: bytes) == feedID else { throw .wrongFeed }
        let head = try FeedHead(signed: bytes)
        guard accepts(signer, at: head.sequence) else { throw .badSignature }
        return (head, signer)
    }

    /// Verifies a batch's header by itself: signature, contents, feed, number unless nil, signer.
    func header(_ bytes: Span<UInt8>, of sequence: UInt64? = nil) throws(FeedError) -> BatchHeader {
        let signer = try BatchHeader.layout.signer(of: bytes, among: acceptedKeys)
        let header = try BatchHeader(signed: bytes)
        guard header.feedID == feedID else { throw .wrongFeed }
        guard header.sequence == sequence ?? header.sequence else { throw .corruptBatch(.sequence) }
        guard accepts(signer, at: header.sequence) else { throw .badSignature }
        return header
    }

    /// Adopts a verified head's settings and keys, unless a newer head was verified before.
    mutating func adopt(_ head: FeedHead, signedBy signer: FeedKey) {
        if let newestIssued, head.issued < newestIssued { return }
        newestIssued = head.issued
        settings = head.settings
        for index in keys.indices where keys[index].key == signer { keys[index].isPending = false }
        keys.removeAll { $0.isPending && $0.key != head.nextKey }
        if let next = head.nextKey, !keys.contains(where: { $0.key == next }),
            keys.count < FeedLimits.acceptedKeys
        {
            keys.append(AcceptedKey(key: next, from: head.sequence + 1, isPending: true))
        }
    }

    /// The cursor after a batch or at a head; `isNewest` retires keys older than the head's signer.
    func advanced(
        to sequence: UInt64, _ hash: HeaderHash?, signer: FeedKey, isNewest: Bool
    ) -> FeedCursor {
        var next = self
        next.sequence = sequence
        next.headerHash = hash
        if isNewest, let index = keys.firstIndex(where: { $0.key == signer }) {
            next.keys.removeFirst(index)
        }
        return next
    }
}

/// The cursor as bytes: fixed fields, then the keys.
extension FeedCursor {
    private static let magic: StaticString = "WAKECU01"
    /// Everything before the keys, bytes.
    private static let fixedBytes = 8 + 16 + 8 + 1 + 32 + 1 + 8 + 6 * 4 + 1
    private static let keyBytes = 32 + 8 + 1

    /// The cursor as bytes to be stored.
    public func encode() -> [UInt8] {
        var bytes = Self.magic.bytes
        bytes.reserveCapacity(Self.fixedBytes + keys.count * Self.keyBytes)
        bytes += feedID.bytes
        bytes.append(littleEndian: sequence)
        bytes.append(headerHash == nil ? 0 : 1)
        bytes += (headerHash ?? .none).bytes
        bytes.append(newestIssued == nil ? 0 : 1)
        bytes.append(littleEndian: UInt64(newestIssued ?? 0))
        bytes += settings.bytes
        bytes.append(UInt8(keys.count))
        for accepted in keys {
            bytes += accepted.key.bytes
            bytes.append(littleEndian: accepted.from)
            bytes.append(accepted.isPending ? 1 : 0)
        }
        return bytes
    }

    /// - Parameter bytes: the result of `encode`; nil for anything else.
    public init?(decoding bytes: [UInt8]) {
        let span = bytes.span
        guard span.count > Self.fixedBytes, span.extracting(0..<8).equals(Self.magic),
            span.count == Self.fixedBytes + Int(span[Self.fixedBytes - 1]) * Self.keyBytes,
            let hash = Self.optional(span, at: 32, count: 32),
            let issued = Self.optional(span, at: 65, count: 8), let keys = Self.keys(in: span)
        else { return nil }
        feedID = FeedID(span.extracting(8..<24))
        sequence = span.littleEndian(at: 24)
        headerHash = hash.map { HeaderHash($0.span) }
        newestIssued = issued.map { Int64(bitPattern: $0.span.littleEndian(at: 0)) }
        settings = FeedSettings(span.extracting(74..<98))
        self.keys = keys
        guard sequence < UInt64(Int64.max), newestIssued ?? 0 >= 0 else { return nil }
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

    private static func keys(in span: Span<UInt8>) -> [AcceptedKey]? {
        guard (1...FeedLimits.acceptedKeys).contains(Int(span[fixedBytes - 1])) else { return nil }
        var keys: [AcceptedKey] = []
        for offset in stride(from: fixedBytes, to: span.count, by: keyBytes) {
            guard let key = FeedKey(bytes: span.extracting(offset..<offset + 32).array),
                span[offset + 40] <= 1
            else { return nil }
            keys.append(
                AcceptedKey(
                    key: key, from: span.littleEndian(at: offset + 32),
                    isPending: span[offset + 40] == 1))
        }
        return keys
    }
}
