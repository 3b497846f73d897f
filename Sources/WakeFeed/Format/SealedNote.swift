import WakeBytes
package import WakeCrypto

/// A publisher's note to the holders of a secret, padded: `crypto_secretbox`, its nonce in front,
/// under BLAKE2b-256 of the secret keyed with BLAKE2b-256 of `wake-feed/note/1`; inside: length
/// (2 bytes, little-endian), note, zeros.
package enum SealedNote {
    /// The longest note in a sealed note, bytes.
    package static func capacity(noteBytes: Int) -> Int { noteBytes - FeedLimits.noteOverheadBytes }

    /// - Returns: nil when it was not sealed for this secret, as decoys are.
    static func open(_ sealed: [UInt8], secret: SecretBytes) -> [UInt8]? {
        guard let plain = SecretBox.open(sealed.span, key: key(of: secret).span), plain.count >= 2
        else { return nil }
        let count = Int(plain.span.littleEndian(at: 0, as: UInt16.self))
        guard count <= plain.count - 2 else { return nil }
        return Array(plain[2..<2 + count])
    }

    package static func key(of secret: SecretBytes) -> [UInt8] {
        let key = derivationKey
        return secret.withSpan { Blake2b.hash($0, key: key.span) }
    }

    private static let derivationKey = Blake2b.hash("wake-feed/note/1")
}

extension Blake2b {
    /// BLAKE2b-256 of a constant, the key of a derivation.
    static func hash(_ domain: StaticString) -> [UInt8] { hash(domain.bytes.span) }
}
