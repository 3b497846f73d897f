package import WakeSodium
import WakeSystem

/// The encoding of a head.
extension FeedHead {
    /// Offsets of its fields, bytes.
    enum Offset {
        static let feedID = 8
        static let sequence = 24
        static let firstSequence = 32
        static let issued = 40
        static let expires = 48
        static let headerHash = 56
        static let retainedBytes = 88
        static let settings = 96..<120
        static let nextKey = 120..<152
        static let reserved = 152..<256
        static let suffixes = 256
        static let reservedTail = 3840..<4024
        static let keyID = 4024
        static let signature = 4032
    }

    static let magic: StaticString = "WAKEHD01"
    static let signing = SignedLayout(
        domain: "wake-feed/head/1\n", keyID: Offset.keyID, signature: Offset.signature)

    /// The first stage of verification: no other byte is used before the signature is verified.
    /// - Parameter keys: those that may sign.
    /// - Returns: the key that signed.
    static func signer(
        of bytes: Span<UInt8>, among keys: [FeedKey]
    ) throws(FeedError) -> FeedKey {
        guard bytes.count >= FeedLimits.headBytes else { throw .truncated }
        guard bytes.count == FeedLimits.headBytes else { throw .tooLarge }
        guard bytes.extracting(0..<8).equals(magic) else { throw .badSignature }
        return try signing.signer(of: bytes, among: keys)
    }

    /// The feed of a head whose signature was verified.
    static func feedID(in bytes: Span<UInt8>) -> FeedID {
        FeedID(bytes.extracting(Offset.feedID..<Offset.feedID + 16))
    }

    /// Reads a head whose signature was verified.
    init(signed bytes: Span<UInt8>) throws(FeedError) {
        guard bytes.isZero(Offset.reserved), bytes.isZero(Offset.reservedTail) else {
            throw .malformedHead(.reservedBytes)
        }
        let sequence: UInt64 = bytes.littleEndian(at: Offset.sequence)
        let first: UInt64 = bytes.littleEndian(at: Offset.firstSequence)
        // Below the signed range, so that `sequence + 1` and every database can hold it.
        guard sequence < UInt64(Int64.max), first >= 1, first <= sequence + 1,
            let issued = Int64(exactly: bytes.littleEndian(at: Offset.issued, as: UInt64.self)),
            let expires = Int64(exactly: bytes.littleEndian(at: Offset.expires, as: UInt64.self))
        else { throw .malformedHead(.range) }
        feedID = Self.feedID(in: bytes)
        self.sequence = sequence
        firstSequence = first
        self.issued = issued
        self.expires = expires
        headerHash = HeaderHash(bytes.extracting(Offset.headerHash..<Offset.headerHash + 32))
        retainedBytes = bytes.littleEndian(at: Offset.retainedBytes)
        settings = FeedSettings(bytes.extracting(Offset.settings))
        if bytes.isZero(Offset.nextKey) {
            nextKey = nil
        } else {
            guard let key = FeedKey(bytes: bytes.extracting(Offset.nextKey).array) else {
                throw .malformedHead(.nextKey)
            }
            nextKey = key
        }
        suffixes = try Self.suffixes(in: bytes, count: sequence + 1 - first)
        // The table's last entry and the full hash are two views of the same batch.
        guard suffixes.last.map({ $0 == headerHash.suffix }) ?? true,
            sequence > 0 || headerHash == .none
        else { throw .malformedHead(.table) }
    }

    private static func suffixes(
        in bytes: Span<UInt8>, count: UInt64
    ) throws(FeedError) -> [BatchSuffix] {
        guard count <= UInt64(FeedLimits.retainedBatches) else { throw .malformedHead(.table) }
        let end = Offset.suffixes + Int(count) * 8
        guard bytes.isZero(end..<Offset.reservedTail.lowerBound) else {
            throw .malformedHead(.reservedBytes)
        }
        return stride(from: Offset.suffixes, to: end, by: 8).map {
            BatchSuffix(bytes.extracting($0..<$0 + 8))
        }
    }

    /// The 4096 bytes, signed.
    package func encoded(signedWith key: SigningKey) -> [UInt8] {
        precondition(UInt64(suffixes.count) == sequence + 1 - firstSequence)
        var bytes = [UInt8](repeating: 0, count: FeedLimits.headBytes)
        bytes.put(Self.magic, at: 0)
        bytes.put(feedID.bytes, at: Offset.feedID)
        bytes.put(littleEndian: sequence, at: Offset.sequence)
        bytes.put(littleEndian: firstSequence, at: Offset.firstSequence)
        bytes.put(littleEndian: UInt64(issued), at: Offset.issued)
        bytes.put(littleEndian: UInt64(expires), at: Offset.expires)
        bytes.put(headerHash.bytes, at: Offset.headerHash)
        bytes.put(littleEndian: retainedBytes, at: Offset.retainedBytes)
        bytes.put(settings.bytes, at: Offset.settings.lowerBound)
        if let nextKey { bytes.put(nextKey.bytes, at: Offset.nextKey.lowerBound) }
        for (index, suffix) in suffixes.enumerated() {
            bytes.put(suffix.bytes, at: Offset.suffixes + index * 8)
        }
        Self.signing.sign(&bytes, with: key)
        return bytes
    }

    // MARK: Without verification

    /// The sequence of a head without verification: the hint of a server that only serves the head.
    /// Clients trust nothing but the signature.
    /// - Returns: nil unless the bytes have the length and the magic of a head.
    package static func sequence(ofUnverified bytes: Span<UInt8>) -> UInt64? {
        guard bytes.count == FeedLimits.headBytes, bytes.extracting(0..<8).equals(magic) else {
            return nil
        }
        return bytes.littleEndian(at: Offset.sequence)
    }

    /// The spread of a head without verification: for the plan of a broadcast.
    /// - Parameter bytes: of which `sequence(ofUnverified:)` is not nil.
    package static func spreadSeconds(ofUnverified bytes: Span<UInt8>) -> UInt32 {
        FeedSettings(bytes.extracting(Offset.settings)).spreadSeconds
    }
}
