private import WakeModel
package import WakeSodium

/// Offsets of a batch header, bytes.
private enum Offset {
    static let feedID = 8
    static let sequence = 24
    static let issued = 32
    static let count = 40
    static let width = 44
    static let kind = 45
    static let noteBytes = 46
    static let salt = 48
    static let previous = 64
    static let payloadHash = 96
    static let payloadBytes = 128
    static let reserved = 136..<184
    static let keyID = 184
    static let signature = 192
}

extension BatchHeader {
    static let magic: StaticString = "WAKEBT01"
    private static let domain: StaticString = "wake-feed/batch/1\n"

    /// - Parameters:
    ///   - bytes: 256 bytes.
    ///   - keys: those that may sign.
    /// - Returns: the key that signed.
    static func signer(
        of bytes: Span<UInt8>, among keys: [FeedKey]
    ) throws(FeedError) -> FeedKey {
        precondition(bytes.count == FeedLimits.headerBytes)
        guard bytes.extracting(0..<8).isEqual(to: magic.bytes) else { throw .badSignature }
        return try SignedBytes.signer(
            of: bytes, signatureAt: Offset.signature, keyIDAt: Offset.keyID, domain: domain,
            among: keys)
    }

    /// Reads a header whose signature was verified. Its size is checked by `checkSize`.
    init(signed bytes: Span<UInt8>) throws(FeedError) {
        guard bytes.isZero(Offset.reserved) else { throw .corruptBatch(.reservedBytes) }
        feedID = FeedID(bytes.extracting(Offset.feedID..<Offset.feedID + 16))
        sequence = bytes.littleEndian(at: Offset.sequence)
        let issued: UInt64 = bytes.littleEndian(at: Offset.issued)
        let payloadBytes: UInt64 = bytes.littleEndian(at: Offset.payloadBytes)
        guard let issued = Int64(exactly: issued),
            let width = DigestWidth(rawValue: Int(bytes[Offset.width])),
            let kind = Kind(rawValue: bytes[Offset.kind])
        else { throw .corruptBatch(.shape) }
        self.issued = issued
        self.width = width
        self.kind = kind
        count = Int(bytes.littleEndian(at: Offset.count, as: UInt32.self))
        noteBytes = Int(bytes.littleEndian(at: Offset.noteBytes, as: UInt16.self))
        salt = BatchSalt(bytes.extracting(Offset.salt..<Offset.salt + 16).array)
        previous = HeaderHash(bytes.extracting(Offset.previous..<Offset.previous + 32))
        payloadHash = bytes.extracting(Offset.payloadHash..<Offset.payloadHash + 32).array
        self.payloadBytes = Int(clamping: payloadBytes)
        let notesFit =
            kind == .digests ? noteBytes == 0 : noteBytes >= FeedLimits.noteOverheadBytes
        guard count >= FeedLimits.digestMultiple, count % FeedLimits.digestMultiple == 0, notesFit
        else { throw .corruptBatch(.shape) }
    }

    /// Refuses what would be too much to read, and sizes that contradict each other.
    func checkSize() throws(FeedError) {
        guard payloadBytes <= FeedLimits.payloadBytes else { throw .tooLarge }
        guard payloadBytes == count * (width.rawValue + noteBytes) else {
            throw .corruptBatch(.size)
        }
    }

    /// The 256 bytes, signed.
    package func encoded(signedWith key: SigningKey) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: FeedLimits.headerBytes)
        bytes.put(Self.magic, at: 0)
        bytes.put(feedID.bytes, at: Offset.feedID)
        bytes.put(sequence, at: Offset.sequence)
        bytes.put(UInt64(issued), at: Offset.issued)
        bytes.put(UInt32(count), at: Offset.count)
        bytes[Offset.width] = UInt8(width.rawValue)
        bytes[Offset.kind] = kind.rawValue
        bytes.put(UInt16(noteBytes), at: Offset.noteBytes)
        if let salt { bytes.put(salt.bytes, at: Offset.salt) }
        bytes.put(previous.bytes, at: Offset.previous)
        bytes.put(payloadHash, at: Offset.payloadHash)
        bytes.put(UInt64(payloadBytes), at: Offset.payloadBytes)
        SignedBytes.sign(
            &bytes, signatureAt: Offset.signature, keyIDAt: Offset.keyID, domain: Self.domain,
            with: key)
        return bytes
    }
}
