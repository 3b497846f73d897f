import WakeBytes

/// The encoding of a head; offsets as in FEED.md.
extension FeedHead {
    package static let magic: StaticString = "WAKEHD02"
    private static let settingsBytes = 96..<96 + FeedSettings.byteCount
    private static let suffixStart = 256

    /// The layout of a head that names so many batches.
    package static func layout(naming batches: Int) -> SignedLayout {
        SignedLayout(
            magic: magic, domain: "wake-feed/head/2\n", count: suffixStart + 8 * batches + 72)
    }

    /// The layout of the head that a file begins with, by numbers that nothing vouches for yet; the
    /// head's proof follows it.
    static func layout(of file: Span<UInt8>) throws(FeedError) -> SignedLayout {
        guard file.count <= FeedLimits.headFileBytes else { throw .tooLarge }
        // A short page of a captive portal is no head that broke off.
        guard layout(naming: 0).mayBegin(file) else { throw .badSignature }
        guard file.count >= suffixStart else { throw .truncated }
        let (last, first): (UInt64, UInt64) =
            (file.littleEndian(at: 24), file.littleEndian(at: 32))
        let batches = last &+ 1 &- first
        guard batches <= UInt64(FeedLimits.retainedBatches) else { throw .badSignature }
        let layout = layout(naming: Int(batches))
        guard file.count >= layout.count else { throw .truncated }
        return layout
    }

    /// The head that a file begins with, and the proof after it; neither is verified.
    package static func split(
        _ file: [UInt8]
    ) throws(FeedError) -> (head: [UInt8], proof: [UInt8]) {
        let count = try layout(of: file.span).count
        return (Array(file[..<count]), Array(file[count...]))
    }

    /// The bytes of this head in its file.
    package var byteCount: Int { Self.layout(naming: count).count }

    /// The key that signed an entry of the log: a head, and nothing after it.
    package static func signer(ofEntry entry: [UInt8], among keys: [FeedKey]) -> FeedKey? {
        try? layout(of: entry.span).signer(of: entry.span, among: keys)
    }

    /// The feed of a head whose signature was verified.
    package static func feedID(in bytes: Span<UInt8>) -> FeedID { FeedID(bytes.extracting(8..<24)) }

    /// Reads a head whose signature was verified.
    /// - Parameter bytes: the head alone.
    package init(signed bytes: Span<UInt8>) throws(FeedError) {
        guard bytes.isZero(Self.settingsBytes.upperBound..<Self.suffixStart) else {
            throw .malformedHead(.reservedBytes)
        }
        let sequence: UInt64 = bytes.littleEndian(at: 24)
        let first: UInt64 = bytes.littleEndian(at: 32)
        // Below the signed range, so that `sequence + 1` and every database can hold it.
        guard sequence < UInt64(Int64.max), first >= 1, first <= sequence + 1,
            let issued = Int64(exactly: bytes.littleEndian(at: 40, as: UInt64.self)),
            let expires = Int64(exactly: bytes.littleEndian(at: 48, as: UInt64.self))
        else { throw .malformedHead(.range) }
        feedID = Self.feedID(in: bytes)
        self.sequence = sequence
        firstSequence = first
        self.issued = issued
        self.expires = expires
        headerHash = HeaderHash(bytes.extracting(56..<88))
        retainedBytes = bytes.littleEndian(at: 88)
        settings = FeedSettings(bytes.extracting(Self.settingsBytes))
        let end = Self.layout(naming: Int(sequence + 1 - first)).keyID
        suffixes = stride(from: Self.suffixStart, to: end, by: 8).map {
            BatchSuffix(bytes.extracting($0..<$0 + 8))
        }
        // The table's last entry and the full hash are two views of the same batch.
        guard suffixes.last.map({ $0 == headerHash.suffix }) ?? true,
            sequence > 0 || headerHash == .none
        else { throw .malformedHead(.table) }
    }

    /// A head, with or without its proof, whose signature was verified before or is not looked at;
    /// nil for other bytes.
    package init?(stored file: [UInt8]) {
        guard let count = (try? Self.layout(of: file.span))?.count,
            let head = try? FeedHead(signed: file.span.extracting(0..<count))
        else { return nil }
        self = head
    }

    /// The record up to the zeros before the signature.
    package var fields: [UInt8] {
        precondition(UInt64(count) == sequence + 1 - firstSequence)
        var bytes = Self.magic.bytes + feedID.bytes
        bytes.append(littleEndian: sequence)
        bytes.append(littleEndian: firstSequence)
        bytes.append(littleEndian: UInt64(issued))
        bytes.append(littleEndian: UInt64(expires))
        bytes += headerHash.bytes
        bytes.append(littleEndian: retainedBytes)
        bytes += settings.bytes
        bytes += [UInt8](repeating: 0, count: Self.suffixStart - bytes.count)
        for suffix in suffixes { bytes += suffix.bytes }
        return bytes
    }
}
