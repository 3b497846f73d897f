private import CRuntime

/// A private RSA key for RS256 (RFC 7518 §3.3), inside libcrypto, freed (and wiped) on release.
///
/// An `EVP_PKEY` that nobody changes may be used by several threads at once (openssl-threads(7)).
@safe
package final class RSAKey: Sendable {
    private let library: CryptoLibrary
    /// The address as a number: pointers are not `Sendable`, and this object is never changed.
    private let address: UInt

    /// Reads an unencrypted PEM document (PKCS #8) with a key of 2048 to 8192 bits.
    package init(pem: Span<UInt8>) throws(SigningError) {
        let library = try CryptoLibrary()
        var key: UnsafeMutableRawPointer?
        let status = unsafe pem.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return CRT_KEY_MALFORMED }
            return unsafe crt_crypto_private_key(
                library.library, CRT_KEY_RSA, start, buffer.count, &key)
        }
        switch status {
        case CRT_KEY_READ: break
        case CRT_KEY_OTHER_KIND: throw .keyOfOtherKind
        case CRT_KEY_OTHER_SIZE: throw .keyOfOtherSize
        case CRT_KEY_NO_MEMORY: throw .outOfMemory
        default: throw .keyMalformed
        }
        self.library = library
        address = UInt(bitPattern: key)
    }

    deinit {
        guard let key = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return }
        unsafe crt_crypto_key_free(library.library, key)
    }

    /// The RS256 signature of a message, as long as the key; nil when libcrypto cannot (out of
    /// memory).
    package func sign(_ message: Span<UInt8>) -> [UInt8]? {
        guard let key = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return nil }
        var signature = [UInt8](repeating: 0, count: CRT_SIGNATURE_BYTES)
        let count = unsafe message.withUnsafeBufferPointer { message in
            unsafe signature.withUnsafeMutableBufferPointer { signature -> Int in
                guard let start = message.baseAddress, let output = signature.baseAddress else {
                    return 0
                }
                return unsafe crt_crypto_sign(
                    library.library, key, start, message.count, output)
            }
        }
        return count > 0 ? Array(signature.prefix(count)) : nil
    }
}

extension RSAKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(key)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
