internal import WakeModel
private import WakeSodium

/// How digests of one width and salt are derived from secrets: BLAKE2b of `width` bytes over secret
/// and salt, keyed with BLAKE2b-256 of `wake-feed/digest/1`.
///
/// libsodium promises no hash below 16 bytes ("crypto_generichash_BYTES_MIN"), so a short digest is
/// the first 8 bytes of the one of 16.
struct DigestDerivation: Sendable {
    private let hash: KeyedHash
    private let salt: [UInt8]
    private let width: DigestWidth

    init(width: DigestWidth, salt: BatchSalt?) {
        self.width = width
        self.salt = salt?.bytes ?? []
        hash = width == .long ? Self.longHash : Self.standardHash
    }

    func digest(of secret: SecretBytes) -> Digest {
        secret.withSpan { digest(of: $0) }
    }

    func digest(of secret: Span<UInt8>) -> Digest {
        var words = hash.hash(secret, salt.span)
        if width == .short { words.second = 0 }
        return Digest(words)
    }

    private static let standardHash = keyedHash(.standard)
    private static let longHash = keyedHash(.long)

    private static func keyedHash(_ width: DigestWidth) -> KeyedHash {
        let name = Array("wake-feed/digest/1".utf8)
        let key = Blake2b.hash(name.span)
        return KeyedHash(key: key.span, count: width.rawValue)
    }
}
