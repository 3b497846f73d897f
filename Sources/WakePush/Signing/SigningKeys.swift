import CRuntime
import WakeSystem

/// Half of a P-256 key pair for ES256 (RFC 7518 §3.4) and ECDH.
@safe
package struct P256Key: Sendable, Redacted {
    package enum Half: Sendable { case privateKey, publicKey }

    private let key: CryptoKey
    private let half: Half

    /// Reads an unencrypted PEM document: PKCS #8, or SubjectPublicKeyInfo for a public key.
    package init(_ half: Half, pem: Span<UInt8>) throws(SigningError) {
        key = try CryptoKey(CRT_KEY_P256, isPrivate: half == .privateKey, pem: pem)
        self.half = half
    }

    /// A key pair for one message.
    package static func ephemeral() throws(SigningError) -> P256Key {
        let library = try CryptoLibrary()
        guard let key = unsafe crt_crypto_key_pair(library.library) else { throw .refused(.last) }
        return P256Key(unsafe CryptoKey(key, of: library), .privateKey)
    }

    /// The public key of an uncompressed point (SEC 1 §2.3.3).
    /// - Throws: `keyMalformed` for any other bytes, and for a point that is not on the curve.
    package init(point: [UInt8]) throws(SigningError) {
        guard point.count == CRT_POINT_BYTES else { throw .keyMalformed }
        let library = try CryptoLibrary()
        guard let key = unsafe crt_crypto_point_key(library.library, point) else {
            throw .keyMalformed
        }
        self.init(unsafe CryptoKey(key, of: library), .publicKey)
    }

    private init(_ key: CryptoKey, _ half: Half) {
        self.key = key
        self.half = half
    }

    var library: CryptoLibrary { key.library }

    /// The x of the shared point, 32 bytes (ECDH, NIST SP 800-56A §5.7.1.2); nil: refused.
    func agree(with peer: P256Key) -> [UInt8]? {
        precondition(half == .privateKey, "a public key cannot agree")
        var secret = [UInt8](repeating: 0, count: CRT_BLOCK_BYTES)
        let isAgreed = unsafe crt_crypto_agree(
            library.library, key.pointer, peer.key.pointer, &secret)
        return isAgreed ? secret : nil
    }

    /// A new key, as the PEM document (PKCS #8) that ``init(_:pem:)`` reads. The caller wipes it.
    package static func generate() throws(SigningError) -> [UInt8] {
        let library = try CryptoLibrary()
        var room = [UInt8](repeating: 0, count: CRT_PEM_BYTES)
        defer { room.wipe() }
        let count = unsafe crt_crypto_generate(library.library, &room)
        guard count > 0 else { throw .refused(.last) }
        return Array(room.prefix(count))
    }

    /// The public half, 65 bytes: 4 and both coordinates (SEC 1 §2.3.3); nil: refused.
    package func publicPoint() -> [UInt8]? {
        var point = [UInt8](repeating: 0, count: CRT_POINT_BYTES)
        let isRead = unsafe crt_crypto_public_point(key.library.library, key.pointer, &point)
        return isRead ? point : nil
    }

    package func sign(_ message: Span<UInt8>) -> ECDSASignature? {
        precondition(half == .privateKey, "a public key cannot sign")
        guard let der = key.sign(message) else { return nil }
        return ECDSASignature(der: der.span)
    }

    /// True when `signature` is of this key (either half) over exactly this message.
    package func verifies(_ signature: ECDSASignature, of message: Span<UInt8>) -> Bool {
        let der = signature.der()
        return unsafe message.withUnsafeBufferPointer { message in
            guard let start = message.baseAddress else { return false }
            return unsafe crt_crypto_verify(
                key.library.library, key.pointer, start, message.count, der, der.count)
        }
    }
}

/// A private RSA key for RS256 (RFC 7518 §3.3).
package struct RSAKey: Sendable, Redacted {
    private let key: CryptoKey

    /// Reads an unencrypted PEM document (PKCS #8) with a key of 2048 to 8192 bits.
    package init(pem: Span<UInt8>) throws(SigningError) {
        key = try CryptoKey(CRT_KEY_RSA, isPrivate: true, pem: pem)
    }

    /// The RS256 signature of a message, as long as the key; nil: refused.
    package func sign(_ message: Span<UInt8>) -> [UInt8]? { key.sign(message) }
}

/// A key inside libcrypto, freed (and wiped) on release; for every thread (openssl-threads(7)).
@safe
final class CryptoKey: Sendable, Redacted {
    let library: CryptoLibrary
    /// The address as a number: pointers are not `Sendable`, and this object is never changed.
    private let address: UInt

    /// Reads an unencrypted PEM document: PKCS #8, or SubjectPublicKeyInfo for a public key.
    init(_ kind: crt_key_kind, isPrivate: Bool, pem: Span<UInt8>) throws(SigningError) {
        let library = try CryptoLibrary()
        var key: UnsafeMutableRawPointer?
        let status = unsafe pem.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return CRT_KEY_MALFORMED }
            return unsafe crt_crypto_read_key(
                library.library, kind, isPrivate, start, buffer.count, &key)
        }
        switch status {
        case CRT_KEY_READ: break
        case CRT_KEY_OTHER_KIND: throw .keyOfOtherKind
        case CRT_KEY_OTHER_SIZE: throw .keyOfOtherSize
        case CRT_KEY_REFUSED: throw .refused(.last)
        default: throw .keyMalformed
        }
        self.library = library
        address = UInt(bitPattern: key)
    }

    /// - Parameter key: freed by this object.
    init(_ key: UnsafeMutableRawPointer, of library: CryptoLibrary) {
        self.library = library
        address = UInt(bitPattern: key)
    }

    deinit { unsafe crt_crypto_key_free(library.library, pointer) }

    var pointer: UnsafeMutableRawPointer {
        guard let key = unsafe UnsafeMutableRawPointer(bitPattern: address) else {
            preconditionFailure("memory is never at address 0")
        }
        return unsafe key
    }

    /// The signature of a message's SHA-256; nil when libcrypto refuses.
    func sign(_ message: Span<UInt8>) -> [UInt8]? {
        var signature = [UInt8](repeating: 0, count: CRT_SIGNATURE_BYTES)
        let count = unsafe message.withUnsafeBufferPointer { message in
            guard let start = message.baseAddress else { return 0 }
            return unsafe crt_crypto_sign(
                library.library, pointer, start, message.count, &signature)
        }
        return count > 0 ? Array(signature.prefix(count)) : nil
    }
}
