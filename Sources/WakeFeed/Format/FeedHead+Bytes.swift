package import WakeModel
import WakeSystem

/// The encoding of a head; offsets as in FEED.md.
extension FeedHead {
    static let layout = SignedLayout(
        magic: "WAKEHD01", domain: "wake-feed/head/1\n", count: FeedLimits.headBytes)
    private static let settingsBytes = 96..<96 + FeedSettings.byteCount
    private static let suffixStart = 256
    private static let suffixEnd = suffixStart + 8 * FeedLimits.retainedBatches

    /// The feed of a head whose signature was verified.
    static func feedID(in bytes: Span<UInt8>) -> FeedID { FeedID(bytes.extracting(8..<24)) }

    /// Reads a head whose signature was verified.
    init(signed bytes: Span<UInt8>) throws(FeedError) {
        guard bytes.isZero(Self.settingsBytes.upperBound..<Self.suffixStart),
            bytes.isZero(Self.suffixEnd..<4024)
        else {
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
        suffixes = try Self.suffixes(in: bytes, count: sequence + 1 - first)
        // The table's last entry and the full hash are two views of the same batch.
        guard suffixes.last.map({ $0 == headerHash.suffix }) ?? true,
            sequence > 0 || headerHash == .none
        else { throw .malformedHead(.table) }
    }

    /// A head whose signature was verified before it was stored; nil for any other bytes.
    package init?(stored bytes: [UInt8]) {
        guard Self.layout.matches(bytes.span), let head = try? FeedHead(signed: bytes.span) else {
            return nil
        }
        self = head
    }

    private static func suffixes(
        in bytes: Span<UInt8>, count: UInt64
    ) throws(FeedError) -> [BatchSuffix] {
        guard count <= UInt64(FeedLimits.retainedBatches) else { throw .malformedHead(.table) }
        let end = suffixStart + Int(count) * 8
        guard bytes.isZero(end..<suffixEnd) else { throw .malformedHead(.reservedBytes) }
        return stride(from: suffixStart, to: end, by: 8).map {
            BatchSuffix(bytes.extracting($0..<$0 + 8))
        }
    }

    package func encoded(signedWith key: SigningKey) -> [UInt8] {
        precondition(UInt64(suffixes.count) == sequence + 1 - firstSequence)
        var bytes = Self.layout.magic.bytes + feedID.bytes
        bytes.append(littleEndian: sequence)
        bytes.append(littleEndian: firstSequence)
        bytes.append(littleEndian: UInt64(issued))
        bytes.append(littleEndian: UInt64(expires))
        bytes += headerHash.bytes
        bytes.append(littleEndian: retainedBytes)
        bytes += settings.bytes
        bytes += [UInt8](repeating: 0, count: Self.suffixStart - bytes.count)
        for suffix in suffixes { bytes += suffix.bytes }
        return Self.layout.signed(bytes, with: key)
    }

    /// The id of the key that an unverified head claims; nil unless length and magic are a head's.
    static func keyID(ofUnverified bytes: Span<UInt8>) -> UInt64? {
        layout.matches(bytes) ? bytes.littleEndian(at: 4024) : nil
    }

    /// The sequence of an unverified head; nil unless length and magic are a head's.
    package static func sequence(ofUnverified bytes: Span<UInt8>) -> UInt64? {
        guard layout.matches(bytes) else { return nil }
        return bytes.littleEndian(at: 24)
    }

    /// The moments between which an unverified head counts, seconds since 1970.
    package static func times(
        ofUnverified bytes: Span<UInt8>
    ) -> (issued: Int64, expires: Int64) {
        let (issued, expires): (UInt64, UInt64) =
            (bytes.littleEndian(at: 40), bytes.littleEndian(at: 48))
        return (Int64(clamping: issued), Int64(clamping: expires))
    }

    /// The settings of a head without verification.
    package static func settings(ofUnverified bytes: Span<UInt8>) -> FeedSettings {
        FeedSettings(bytes.extracting(settingsBytes))
    }
}
