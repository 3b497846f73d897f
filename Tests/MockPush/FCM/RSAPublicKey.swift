import CRuntime

/// The half of an RSA key that verifies RS256 (RFC 7518 §3.3).
@safe
final class RSAPublicKey {
    private let library: crt_crypto
    private let key: UnsafeMutableRawPointer

    init(pem: [UInt8]) throws(MockFailure) {
        var library = unsafe crt_crypto(table: nil)
        var key: UnsafeMutableRawPointer?
        guard unsafe crt_crypto_load(nil, &library) == CRT_LOADED else {
            throw MockFailure("cannot load libcrypto.so.3; install the package libssl3")
        }
        let status = unsafe pem.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return CRT_KEY_MALFORMED }
            return unsafe crt_crypto_read_key(
                library, CRT_KEY_RSA, false, start, bytes.count, &key)
        }
        guard status == CRT_KEY_READ, let key = unsafe key else {
            throw MockFailure("not a public RSA key in PEM")
        }
        unsafe self.library = unsafe library
        unsafe self.key = unsafe key
    }

    deinit { unsafe crt_crypto_key_free(library, key) }

    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        unsafe message.withUnsafeBufferPointer { message in
            unsafe signature.withUnsafeBufferPointer { signature -> Bool in
                guard let start = message.baseAddress, let bytes = signature.baseAddress else {
                    return false
                }
                return unsafe crt_crypto_verify(
                    library, key, start, message.count, bytes, signature.count)
            }
        }
    }
}
