private import WakeModel
package import WakeSodium

/// Offsets of a head, bytes.
private enum Offset {
    static let feedID = 8
    static let sequence = 24
    static let firstSequence = 32
    static let issued = 40
    static let expires = 48
    static let headerHash = 56
    static let retainedBytes = 88
    static let pollSeconds = 96
    static let spreadSeconds = 100
    static let flags = 104
    static let pauseSeconds = 108
    static let minimumClientVersion = 112
    static let cacheSeconds = 116
    static let nextKey = 120
    static let reserved = 152..<256
    static let suffixes = 256
    static let reservedTail = 3840..<4024
    static let keyID = 4024
    static let signature = 4032
}

extension FeedHead {
    static let magic: StaticString = "WAKEHD01"
    private static let domain: StaticString = "wake-feed/head/1\n"

    /// The first stage of verification: no byte is believed before the signature is.
    /// - Parameter keys: those that may sign.
    /// - Returns: the key that signed.
    static func signer(
        of bytes: Span<UInt8>, among keys: [FeedKey]
    ) throws(FeedError) -> FeedKey {
        guard bytes.count >= FeedLimits.headBytes else { throw .truncated }
        guard bytes.count == FeedLimits.headBytes else { throw .tooLarge }
        guard bytes.extracting(0..<8).isEqual(to: magic.bytes) else { throw .badSignature }
        return try SignedBytes.signer(
            of: bytes, signatureAt: Offset.signature, keyIDAt: Offset.keyID, domain: domain,
            among: keys)
    }

    /// The feed named by a head whose signature was verified.
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
        let hash = bytes.extracting(Offset.headerHash..<Offset.headerHash + 32)
        headerHash = HeaderHash(hash)
        retainedBytes = bytes.littleEndian(at: Offset.retainedBytes)
        settings = FeedSettings(
            pollSeconds: bytes.littleEndian(at: Offset.pollSeconds),
            spreadSeconds: bytes.littleEndian(at: Offset.spreadSeconds),
            flags: FeedFlags(rawValue: bytes.littleEndian(at: Offset.flags)),
            pauseSeconds: bytes.littleEndian(at: Offset.pauseSeconds),
            minimumClientVersion: bytes.littleEndian(at: Offset.minimumClientVersion),
            cacheSeconds: bytes.littleEndian(at: Offset.cacheSeconds))
        nextKey = try Self.nextKey(in: bytes)
        suffixes = try Self.suffixes(in: bytes, count: sequence + 1 - first)
        // The table's last entry and the full hash are two views of the same batch.
        guard suffixes.last.map({ $0 == headerHash.suffix }) ?? true,
            sequence > 0 || headerHash == .none
        else { throw .malformedHead(.table) }
    }

    private static func nextKey(in bytes: Span<UInt8>) throws(FeedError) -> FeedKey? {
        let range = Offset.nextKey..<Offset.nextKey + 32
        if bytes.isZero(range) { return nil }
        guard let key = FeedKey(bytes: bytes.extracting(range).array) else {
            throw .malformedHead(.nextKey)
        }
        return key
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
        bytes.put(sequence, at: Offset.sequence)
        bytes.put(firstSequence, at: Offset.firstSequence)
        bytes.put(UInt64(issued), at: Offset.issued)
        bytes.put(UInt64(expires), at: Offset.expires)
        bytes.put(headerHash.bytes, at: Offset.headerHash)
        bytes.put(retainedBytes, at: Offset.retainedBytes)
        bytes.put(settings.pollSeconds, at: Offset.pollSeconds)
        bytes.put(settings.spreadSeconds, at: Offset.spreadSeconds)
        bytes.put(settings.flags.rawValue, at: Offset.flags)
        bytes.put(settings.pauseSeconds, at: Offset.pauseSeconds)
        bytes.put(settings.minimumClientVersion, at: Offset.minimumClientVersion)
        bytes.put(settings.cacheSeconds, at: Offset.cacheSeconds)
        if let nextKey { bytes.put(nextKey.bytes, at: Offset.nextKey) }
        for (index, suffix) in suffixes.enumerated() {
            bytes.put(suffix.bytes, at: Offset.suffixes + index * 8)
        }
        SignedBytes.sign(
            &bytes, signatureAt: Offset.signature, keyIDAt: Offset.keyID, domain: Self.domain,
            with: key)
        return bytes
    }
}
