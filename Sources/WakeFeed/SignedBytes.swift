internal import WakeSodium

/// Bytes of a fixed layout that end with their signer's id and an Ed25519 signature over a domain
/// and everything before the signature.
enum SignedBytes {
    /// - Returns: the key that signed.
    static func signer(
        of bytes: Span<UInt8>, signatureAt offset: Int, keyIDAt keyIDOffset: Int,
        domain: StaticString, among keys: [FeedKey]
    ) throws(FeedError) -> FeedKey {
        let keyID: UInt64 = bytes.littleEndian(at: keyIDOffset)
        let message = message(bytes, upTo: offset, domain)
        let signature = bytes.extracting(offset..<offset + 64)
        // Two keys with one id are improbable and harmless: the signature decides.
        for key in keys where key.keyID == keyID {
            if key.verifying.verifies(signature, of: message.span) { return key }
        }
        throw .badSignature
    }

    static func sign(
        _ bytes: inout [UInt8], signatureAt offset: Int, keyIDAt keyIDOffset: Int,
        domain: StaticString, with key: SigningKey
    ) {
        bytes.put(FeedKey(key.verifyingKey).keyID, at: keyIDOffset)
        let message = message(bytes.span, upTo: offset, domain)
        bytes.put(key.sign(message.span), at: offset)
    }

    private static func message(
        _ bytes: Span<UInt8>, upTo end: Int, _ domain: StaticString
    ) -> [UInt8] {
        var message = domain.bytes
        message.append(bytes.extracting(0..<end))
        return message
    }
}
