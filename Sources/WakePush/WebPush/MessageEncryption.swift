import WakeModel
import WakeSystem

/// A message of Web Push, encrypted for one app (RFC 8291): neither the push service nor anybody on
/// the way reads it. One record of the content coding aes128gcm (RFC 8188).
struct EncryptedMessage: Sendable, Redacted {
    /// Salt, record size, the sender's point as key id (RFC 8188 §2.1), and the record.
    let bytes: [UInt8]

    static let saltBytes = 16
    /// RFC 8291 §4: one record, as long as push services take at least.
    static let recordBytes = 4096
    /// The padding delimiter of the last record (RFC 8188 §2), and the tag.
    static let longestMessage = recordBytes - 17

    /// A key pair and a salt that are used for this message alone (RFC 8291 §3.1, RFC 8188 §2.1).
    /// - Throws: `keyMalformed` when the app's point is not on the curve.
    init(_ message: [UInt8], to keys: SubscriptionKeys) throws(SigningError) {
        try self.init(
            message, to: keys, pair: P256Key.ephemeral(), salt: Sodium.random(Self.saltBytes))
    }

    init(
        _ message: [UInt8], to keys: SubscriptionKeys, pair: P256Key, salt: [UInt8]
    ) throws(SigningError) {
        precondition(salt.count == Self.saltBytes && message.count <= Self.longestMessage)
        let receiver = try keys.point.withSpan { (point) throws(SigningError) in
            try P256Key(point: point.array)
        }
        guard var shared = pair.agree(with: receiver), let point = pair.publicPoint() else {
            throw .refused(.last)
        }
        defer { shared.wipe() }
        let library = pair.library
        // RFC 8291 §3.4: only who knows the secret besides derives what follows.
        let context = keys.point.withSpan { Array("WebPush: info\0".utf8) + $0.array + point }
        let input = keys.secret.withSpan { secret in
            library.derive(context, from: shared.span, salt: secret, count: 32)
        }
        guard var input else { throw .refused(.last) }
        defer { input.wipe() }
        let label = "Content-Encoding: "
        guard
            var key = library.derive(
                Array("\(label)aes128gcm\0".utf8), from: input.span, salt: salt.span, count: 16),
            let nonce = library.derive(
                Array("\(label)nonce\0".utf8), from: input.span, salt: salt.span, count: 12)
        else { throw .refused(.last) }
        defer { key.wipe() }
        guard let record = library.seal(message + [2], key: key, nonce: nonce) else {
            throw .refused(.last)
        }
        var bytes = salt
        bytes.append(bigEndian: UInt32(Self.recordBytes))
        bytes.append(UInt8(point.count))
        self.bytes = bytes + point + record
    }
}

extension CryptoLibrary {
    /// HKDF-SHA-256 (RFC 5869) of at most 32 bytes; nil: refused.
    fileprivate func derive(
        _ context: [UInt8], from input: Span<UInt8>, salt: Span<UInt8>, count: Int
    ) -> [UInt8]? {
        precondition(count <= 32)
        guard var extracted = hmac(input, key: salt) else { return nil }
        defer { extracted.wipe() }
        let message = context + [1]
        guard var block = hmac(message.span, key: extracted.span) else { return nil }
        defer { block.wipe() }
        return Array(block.prefix(count))
    }
}
