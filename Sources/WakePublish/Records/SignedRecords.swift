package import WakeFeed
package import WakeModel
import WakeSystem

/// The signing of what a feed's clients verify.
extension SignedLayout {
    func signed(_ fields: [UInt8], with key: SigningKey) -> [UInt8] {
        var bytes = fields + [UInt8](repeating: 0, count: count - fields.count)
        sign(&bytes, with: key)
        return bytes
    }

    func sign(_ bytes: inout [UInt8], with key: SigningKey) {
        bytes.put(littleEndian: FeedKey(key.verifyingKey).keyID, at: keyID)
        bytes.put(key.sign(message(bytes.span).span), at: signature)
    }
}

extension BatchHeader {
    package func encoded(signedWith key: SigningKey) -> [UInt8] {
        Self.layout.signed(fields, with: key)
    }
}

extension FeedHead {
    package func encoded(signedWith key: SigningKey) -> [UInt8] {
        Self.layout(naming: count).signed(fields, with: key)
    }
}

extension KeyChain {
    /// The file of a feed with one key.
    static func file(first key: SigningKey) -> [UInt8] {
        let feedID = FeedKey(key.verifyingKey).feedID
        return padded(record(feedID, from: 1, key, key))
    }

    /// The file with one more key, which signs the batches from `sequence` on.
    func file(
        _ file: [UInt8], adding key: SigningKey, after old: SigningKey, from sequence: UInt64
    ) -> [UInt8] {
        precondition(links.count < FeedLimits.keys && newest.bytes == old.verifyingKey.bytes)
        let known = file[..<(links.count * Self.recordBytes)]
        return Self.padded(known + Self.record(feedID, from: sequence, old, key))
    }

    private static func record(
        _ feedID: FeedID, from sequence: UInt64, _ old: SigningKey, _ key: SigningKey
    ) -> [UInt8] {
        var bytes = magic.bytes + feedID.bytes
        bytes.append(littleEndian: sequence)
        bytes += old.verifyingKey.bytes + key.verifyingKey.bytes
        return acceptance.signed(consent.signed(bytes, with: old), with: key)
    }

    private static func padded(_ records: [UInt8]) -> [UInt8] {
        records + [UInt8](repeating: 0, count: FeedLimits.keysBytes - records.count)
    }
}

extension SealedNote {
    /// - Parameters:
    ///   - note: at most `capacity(noteBytes:)` bytes.
    ///   - nonce: 24 random bytes.
    static func seal(
        _ note: [UInt8], secret: SecretBytes, noteBytes: Int, nonce: [UInt8]
    ) -> [UInt8] {
        precondition(note.count <= capacity(noteBytes: noteBytes))
        var plain = [UInt8](repeating: 0, count: noteBytes - SecretBox.overheadBytes)
        plain.put(littleEndian: UInt16(note.count), at: 0)
        plain.put(note, at: 2)
        return SecretBox.seal(plain.span, nonce: nonce.span, key: key(of: secret).span)
    }
}
