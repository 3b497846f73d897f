import WakeBytes
package import WakeCrypto

/// The public key a feed is verified with; apps ship with it.
public struct FeedKey: Sendable, Hashable {
    package let verifying: VerifyingKey
    /// The first 8 bytes of BLAKE2b-128 of the key, as heads and batches name their signer.
    package let keyID: UInt64

    package init(_ key: VerifyingKey) {
        verifying = key
        keyID = Blake2b.hash(key.bytes.span, count: 16).span.littleEndian(at: 0)
    }

    /// - Parameter text: 43 characters of base64url; nil for any other text, and for no key.
    public init?(text: String) {
        guard let key = VerifyingKey(text: text) else { return nil }
        self.init(key)
    }

    /// - Parameter bytes: 32 bytes; nil for any other length, and for bytes that are no key.
    public init?(bytes: [UInt8]) {
        guard let key = VerifyingKey(bytes) else { return nil }
        self.init(key)
    }

    /// 43 characters of base64url.
    public var text: String { verifying.text }

    /// 32 bytes.
    public var bytes: [UInt8] { verifying.bytes }

    /// The feed whose first key this is.
    public var feedID: FeedID { FeedID(firstKey: self) }
}

/// The name of a feed, for good: BLAKE2b-128 of `wake-feed-id` and its first public key.
public struct FeedID: Sendable, Hashable {
    /// 16 bytes.
    public let bytes: [UInt8]

    /// The identity of the feed whose first key this is.
    public init(firstKey: FeedKey) {
        bytes = Blake2b.hash((Array("wake-feed-id".utf8) + firstKey.bytes).span, count: 16)
    }

    /// - Parameter bytes: 16 bytes.
    package init(_ bytes: Span<UInt8>) {
        precondition(bytes.count == 16)
        self.bytes = bytes.array
    }

    /// 32 lower-case hexadecimal digits, usable as a directory's name.
    public var text: String { String(decoding: Hex.encode(bytes.span), as: UTF8.self) }
}

/// The layout of a signed record of known length: a magic number, fields, zeros, the signer's id
/// (8 bytes), and an Ed25519 signature (64 bytes) over a domain and everything before it.
package struct SignedLayout: Sendable {
    /// The first 8 bytes.
    package let magic: StaticString
    private let domain: StaticString
    package let count: Int

    package init(magic: StaticString, domain: StaticString, count: Int) {
        self.magic = magic
        self.domain = domain
        self.count = count
    }

    /// Where the signer's id is.
    package var keyID: Int { count - 72 }
    package var signature: Int { count - 64 }

    /// Whether bytes may be the beginning of the record.
    package func mayBegin(_ bytes: Span<UInt8>) -> Bool {
        magic.bytes.starts(with: bytes.extracting(0..<min(8, bytes.count)).array)
    }

    /// The key that signed: verified before any other byte is used.
    package func signer(of bytes: Span<UInt8>, among keys: [FeedKey]) throws(FeedError) -> FeedKey {
        // A short page of a captive portal is no head that broke off.
        guard bytes.count >= count else { throw mayBegin(bytes) ? .truncated : .badSignature }
        guard bytes.count == count else { throw .tooLarge }
        guard bytes.extracting(0..<8).equals(magic) else { throw .badSignature }
        let id: UInt64 = bytes.littleEndian(at: keyID)
        let message = message(bytes)
        let signed = bytes.extracting(signature..<count)
        // Two keys with one id are improbable and harmless: the signature decides.
        for key in keys where key.keyID == id {
            if key.verifying.verifies(signed, of: message.span) { return key }
        }
        throw .badSignature
    }

    /// What is signed.
    package func message(_ bytes: Span<UInt8>) -> [UInt8] {
        var message = domain.bytes
        message.append(span: bytes.extracting(0..<signature))
        return message
    }
}
