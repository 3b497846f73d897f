private import CRuntime
private import WakeModel

/// Half of a P-256 key pair for ES256, inside libcrypto, freed (and wiped) on release.
///
/// An `EVP_PKEY` that nobody changes may be used by several threads at once (openssl-threads(7)).
@safe
package final class P256Key: Sendable {
    package enum Half: Sendable { case privateKey, publicKey }

    private let library: CryptoLibrary
    /// The address as a number: pointers are not `Sendable`, and this object is never changed.
    private let address: UInt
    private let half: Half

    /// Reads an unencrypted PEM document: PKCS #8 for a private key, SubjectPublicKeyInfo for a
    /// public one.
    package init(_ half: Half, pem: Span<UInt8>) throws(SigningError) {
        let library = try CryptoLibrary()
        var key: UnsafeMutableRawPointer?
        let status = unsafe pem.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return CRT_KEY_MALFORMED }
            return switch half {
            case .privateKey:
                unsafe crt_crypto_private_key(
                    library.library, CRT_KEY_P256, start, buffer.count, &key)
            case .publicKey:
                unsafe crt_crypto_public_key(
                    library.library, CRT_KEY_P256, start, buffer.count, &key)
            }
        }
        switch status {
        case CRT_KEY_READ: break
        case CRT_KEY_OTHER_KIND: throw .keyOfOtherKind
        case CRT_KEY_NO_MEMORY: throw .outOfMemory
        default: throw .keyMalformed
        }
        self.library = library
        self.half = half
        address = UInt(bitPattern: key)
    }

    deinit {
        guard let key = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return }
        unsafe crt_crypto_key_free(library.library, key)
    }

    /// A new key, as the PEM document (PKCS #8) that ``init(_:pem:)`` reads. The caller wipes it.
    package static func generate() throws(SigningError) -> [UInt8] {
        let library = try CryptoLibrary()
        var room = [UInt8](repeating: 0, count: CRT_PEM_BYTES)
        let count = unsafe room.withUnsafeMutableBufferPointer { room -> Int in
            guard let start = room.baseAddress else { return 0 }
            return unsafe crt_crypto_generate(library.library, start)
        }
        defer { wipe(&room) }
        guard count > 0 else { throw .outOfMemory }
        return Array(room.prefix(count))
    }

    /// The public half, 65 bytes: 4, then both coordinates (SEC 1 §2.3.3); nil when libcrypto
    /// cannot (out of memory).
    package func publicPoint() -> [UInt8]? {
        guard let key = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return nil }
        var point = [UInt8](repeating: 0, count: CRT_POINT_BYTES)
        let isRead = unsafe point.withUnsafeMutableBufferPointer { point -> Bool in
            guard let start = point.baseAddress else { return false }
            return unsafe crt_crypto_public_point(library.library, key, start)
        }
        return isRead ? point : nil
    }

    /// The ES256 signature of a message, raw r‖s; nil when libcrypto cannot (out of memory).
    package func sign(_ message: Span<UInt8>) -> ECDSASignature? {
        precondition(half == .privateKey, "a public key cannot sign")
        guard let key = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return nil }
        var der = [UInt8](repeating: 0, count: CRT_SIGNATURE_BYTES)
        let count = unsafe message.withUnsafeBufferPointer { message in
            unsafe der.withUnsafeMutableBufferPointer { der -> Int in
                guard let start = message.baseAddress, let output = der.baseAddress else {
                    return 0
                }
                return unsafe crt_crypto_sign(
                    library.library, key, start, message.count, output)
            }
        }
        guard count > 0 else { return nil }
        return ECDSASignature(der: der.span.extracting(0..<count))
    }

    /// Whether `signature` is this key's (either half) over exactly this message.
    package func verifies(_ signature: ECDSASignature, of message: Span<UInt8>) -> Bool {
        guard let key = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return false }
        let der = signature.der()
        return unsafe message.withUnsafeBufferPointer { message in
            unsafe der.withUnsafeBufferPointer { der -> Bool in
                guard let start = message.baseAddress, let signature = der.baseAddress else {
                    return false
                }
                return unsafe crt_crypto_verify(
                    library.library, key, start, message.count, signature, der.count)
            }
        }
    }
}

extension P256Key: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(key)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
