private import WakeModel
package import WakeSodium
import WakeSystem

/// The public key a feed is verified with; apps ship with it.
public struct FeedKey: Sendable, Hashable {
    package let verifying: VerifyingKey
    /// The first 8 bytes of BLAKE2b-128 of the key, as heads and batches name their signer.
    let keyID: UInt64

    package init(_ key: VerifyingKey) {
        verifying = key
        keyID = Blake2b.hash(key.bytes.span, count: 16).span.littleEndian(at: 0)
    }

    /// - Parameter text: 43 characters of base64url.
    /// - Returns: nil for any other text, and for 32 bytes that are no key.
    public init?(text: String) {
        guard let key = VerifyingKey(text: text) else { return nil }
        self.init(key)
    }

    /// - Parameter bytes: 32 bytes.
    /// - Returns: nil for any other length, and for 32 bytes that are no key.
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

/// The name of a feed: BLAKE2b-128 of `wake-feed-id` and the first public key it was signed with.
/// A successor key does not change it.
public struct FeedID: Sendable, Hashable {
    /// 16 bytes.
    public let bytes: [UInt8]

    /// The identity of the feed whose first key this is.
    public init(firstKey: FeedKey) {
        bytes = Blake2b.hash((Array("wake-feed-id".utf8) + firstKey.bytes).span, count: 16)
    }

    /// - Parameter bytes: 16 bytes.
    init(_ bytes: Span<UInt8>) {
        precondition(bytes.count == 16)
        self.bytes = bytes.array
    }

    /// 32 lower-case hexadecimal digits, usable as a directory's name.
    public var text: String {
        String(decoding: Hex.encode(bytes.span), as: UTF8.self)
    }
}

/// A layout that ends with the signer's id and an Ed25519 signature over a domain and everything
/// before the signature.
struct SignedLayout: Sendable {
    let domain: StaticString
    /// Offset of the 8 bytes of the signer's id.
    let keyID: Int
    /// Offset of the 64 bytes of the signature.
    let signature: Int

    /// - Returns: the key that signed.
    func signer(of bytes: Span<UInt8>, among keys: [FeedKey]) throws(FeedError) -> FeedKey {
        let id: UInt64 = bytes.littleEndian(at: keyID)
        let message = message(bytes)
        let signed = bytes.extracting(signature..<signature + 64)
        // Two keys with one id are improbable and harmless: the signature decides.
        for key in keys where key.keyID == id {
            if key.verifying.verifies(signed, of: message.span) { return key }
        }
        throw .badSignature
    }

    func sign(_ bytes: inout [UInt8], with key: SigningKey) {
        bytes.put(littleEndian: FeedKey(key.verifyingKey).keyID, at: keyID)
        let message = message(bytes.span)
        bytes.put(key.sign(message.span), at: signature)
    }

    private func message(_ bytes: Span<UInt8>) -> [UInt8] {
        var message = domain.bytes
        message.append(span: bytes.extracting(0..<signature))
        return message
    }
}
