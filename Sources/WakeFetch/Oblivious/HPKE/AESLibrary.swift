private import CRuntime
import WakeSystem

/// AES-128-GCM (NIST SP 800-38D) of OpenSSL's libcrypto, for every thread.
@safe
struct AESLibrary: Sendable {
    private let library: crt_crypto

    /// nil where there is no libcrypto of a version that is known.
    static let shared = AESLibrary()

    private init?() {
        var library = unsafe crt_crypto(table: nil)
        guard unsafe crt_crypto_load(nil, &library) == CRT_LOADED else { return nil }
        unsafe self.library = unsafe library
    }

    /// - Returns: ciphertext ‖ tag; nil: out of memory.
    func seal(
        _ message: Span<UInt8>, associated: Span<UInt8>, nonce: Span<UInt8>, key: Span<UInt8>
    ) -> [UInt8]? {
        precondition(key.count == 16 && nonce.count == 12)
        var sealed = [UInt8](repeating: 0, count: message.count + Int(CRT_TAG_BYTES))
        let isSealed = unsafe Self.withPointers(key, nonce, associated, message) {
            key, nonce, data, input in
            unsafe crt_crypto_seal(
                library, key, nonce, data, associated.count, input, message.count, &sealed)
        }
        return isSealed ? sealed : nil
    }

    func open(
        _ sealed: Span<UInt8>, associated: Span<UInt8>, nonce: Span<UInt8>, key: Span<UInt8>
    ) -> [UInt8]? {
        precondition(key.count == 16 && nonce.count == 12)
        guard sealed.count >= Int(CRT_TAG_BYTES) else { return nil }
        // A byte more than needed: never an empty array, whose address is of nothing.
        var message = [UInt8](repeating: 0, count: sealed.count)
        let isOpen = unsafe Self.withPointers(key, nonce, associated, sealed) {
            key, nonce, data, input in
            unsafe crt_crypto_open(
                library, key, nonce, data, associated.count, input, sealed.count, &message)
        }
        guard isOpen else {
            // Decrypted before the tag was compared.
            message.wipe()
            return nil
        }
        message.removeLast(Int(CRT_TAG_BYTES))
        return message
    }

    /// Lends key, nonce, associated bytes and message; an empty one is a pointer to nothing read.
    @unsafe private static func withPointers(
        _ key: Span<UInt8>, _ nonce: Span<UInt8>, _ associated: Span<UInt8>,
        _ message: Span<UInt8>,
        _ body: (
            UnsafePointer<UInt8>, UnsafePointer<UInt8>, UnsafePointer<UInt8>?,
            UnsafePointer<UInt8>
        ) -> Bool
    ) -> Bool {
        unsafe key.withUnsafeBufferPointer { key in
            unsafe nonce.withUnsafeBufferPointer { nonce in
                unsafe associated.withUnsafeBufferPointer { data in
                    unsafe message.withUnsafeBufferPointer { message in
                        guard let key = key.baseAddress, let nonce = nonce.baseAddress else {
                            return false
                        }
                        return unsafe body(
                            key, nonce, data.baseAddress, message.baseAddress ?? key)
                    }
                }
            }
        }
    }
}
