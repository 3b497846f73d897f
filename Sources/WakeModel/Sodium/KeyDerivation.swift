private import CSodium
import WakeSystem

/// HMAC-SHA-256 (RFC 2104), as the bytes come. Its memory is wiped by `finish`.
private struct HMAC: ~Copyable {
    private var state = crypto_auth_hmacsha256_state()

    init(key: Span<UInt8>) {
        Sodium.start()
        key.withPointer { _ = unsafe crypto_auth_hmacsha256_init(&state, $0, key.count) }
    }

    mutating func update(_ bytes: Span<UInt8>) {
        bytes.withPointer {
            _ = unsafe crypto_auth_hmacsha256_update(&state, $0, UInt64(bytes.count))
        }
    }

    mutating func finish() -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        code.withMutablePointer { _ = unsafe crypto_auth_hmacsha256_final(&state, $0) }
        unsafe sodium_memzero(&state, MemoryLayout<crypto_auth_hmacsha256_state>.size)
        return code
    }
}

/// HKDF with SHA-256 (RFC 5869). libsodium has it as `crypto_kdf_hkdf` from 1.0.19 on; here it is
/// made of its HMAC, which older ones have too.
package enum HKDF {
    /// RFC 5869 §2.2: a key of 32 bytes, which the caller wipes.
    /// - Parameter inputs: taken one after the other, as one input.
    package static func extract(salt: Span<UInt8>, _ inputs: [[UInt8]]) -> [UInt8] {
        var code = HMAC(key: salt)
        for input in inputs { code.update(input.span) }
        return code.finish()
    }

    /// RFC 5869 §2.3: bytes that the caller wipes if they are secret.
    /// - Parameters:
    ///   - context: `info`, taken one after the other.
    ///   - count: up to 255 × 32.
    package static func expand(_ key: Span<UInt8>, _ context: [[UInt8]], count: Int) -> [UInt8] {
        precondition((1...255 * 32).contains(count))
        var output: [UInt8] = []
        output.reserveCapacity(count)
        var block: [UInt8] = []
        var number: UInt8 = 0
        while output.count < count {
            number += 1
            var code = HMAC(key: key)
            code.update(block.span)
            for part in context { code.update(part.span) }
            code.update([number].span)
            block.wipe()
            block = code.finish()
            for byte in block.prefix(count - output.count) { output.append(byte) }
        }
        block.wipe()
        return output
    }
}

/// ChaCha20-Poly1305 (RFC 8439 §2.8): ciphertext ‖ tag (16).
package enum ChaChaPoly {
    package static let tagBytes = 16

    /// - Parameters:
    ///   - nonce: 12 bytes, never twice under one key.
    ///   - key: 32 bytes.
    package static func seal(
        _ message: Span<UInt8>, associated: Span<UInt8>, nonce: Span<UInt8>, key: Span<UInt8>
    ) -> [UInt8] {
        precondition(nonce.count == 12 && key.count == 32)
        Sodium.start()
        var sealed = [UInt8](repeating: 0, count: message.count + tagBytes)
        sealed.withMutablePointer { output in
            message.withPointer { input in
                associated.withPointer { data in
                    nonce.withPointer { nonce in
                        key.withPointer { key in
                            _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                                output, nil, input, UInt64(message.count), data,
                                UInt64(associated.count), nil, nonce, key)
                        }
                    }
                }
            }
        }
        return sealed
    }

    /// - Returns: the message, or nil when key, nonce, associated bytes or any bit differ.
    package static func open(
        _ sealed: Span<UInt8>, associated: Span<UInt8>, nonce: Span<UInt8>, key: Span<UInt8>
    ) -> [UInt8]? {
        precondition(nonce.count == 12 && key.count == 32)
        guard sealed.count >= tagBytes else { return nil }
        Sodium.start()
        var message = [UInt8](repeating: 0, count: sealed.count - tagBytes)
        let isOpen = message.withMutablePointer { output in
            sealed.withPointer { input in
                associated.withPointer { data in
                    nonce.withPointer { nonce in
                        key.withPointer { key in
                            unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                                output, nil, nil, input, UInt64(sealed.count), data,
                                UInt64(associated.count), nonce, key) == 0
                        }
                    }
                }
            }
        }
        return isOpen ? message : nil
    }
}
