private import WakeModel
package import WakeSodium

/// The public key a feed is verified with: what an app ships with.
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
