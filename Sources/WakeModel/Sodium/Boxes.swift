private import CSodium

/// XChaCha20-Poly1305 with a random nonce in front: nonce (24) ‖ ciphertext ‖ tag (16).
package enum SealedBox {
    package static let nonceBytes = 24
    package static let overheadBytes = 24 + 16

    /// - Parameters:
    ///   - associated: bytes that are authenticated and not stored.
    ///   - key: 32 bytes.
    package static func seal(
        _ plaintext: Span<UInt8>, associated: Span<UInt8>, key: KeyMemory
    ) -> [UInt8] {
        precondition(key.count == 32)
        var sealed = [UInt8](repeating: 0, count: plaintext.count + overheadBytes)
        key.withSpan { key in
            sealed.withMutablePointer { output in
                unsafe randombytes_buf(output, nonceBytes)
                plaintext.withPointer { input in
                    associated.withPointer { data in
                        key.withPointer { key in
                            _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                                output + nonceBytes, nil, input, UInt64(plaintext.count),
                                data, UInt64(associated.count), nil, output, key)
                        }
                    }
                }
            }
        }
        return sealed
    }

    /// - Returns: the plaintext, or nil when key, associated bytes or any bit differ.
    package static func open(
        _ sealed: Span<UInt8>, associated: Span<UInt8>, key: KeyMemory
    ) -> [UInt8]? {
        guard sealed.count >= overheadBytes else { return nil }
        var plaintext = [UInt8](repeating: 0, count: sealed.count - overheadBytes)
        var output = plaintext.mutableSpan
        return open(sealed, associated: associated, key: key, into: &output) ? plaintext : nil
    }

    /// The same without memory of its own.
    /// - Parameter plaintext: as many bytes as were sealed.
    /// - Returns: false when key, associated bytes or any bit differ.
    package static func open(
        _ sealed: Span<UInt8>, associated: Span<UInt8>, key: KeyMemory,
        into plaintext: inout MutableSpan<UInt8>
    ) -> Bool {
        key.withSpan { key in
            open(sealed, associated: associated, key: key, into: &plaintext)
        }
    }

    /// The same with a key that is lent for many boxes: counting its users would cost as well.
    /// - Parameter key: 32 bytes.
    package static func open(
        _ sealed: Span<UInt8>, associated: Span<UInt8>, key: Span<UInt8>,
        into plaintext: inout MutableSpan<UInt8>
    ) -> Bool {
        precondition(key.count == 32 && plaintext.count + overheadBytes == sealed.count)
        return plaintext.withMutablePointer { output in
            sealed.withPointer { input in
                associated.withPointer { data in
                    key.withPointer { key in
                        unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
                            output, nil, nil, input + nonceBytes,
                            UInt64(sealed.count - nonceBytes), data,
                            UInt64(associated.count), input, key) == 0
                    }
                }
            }
        }
    }
}

extension SecretBox {
    /// - Parameters:
    ///   - nonce: 24 bytes, never twice under one key.
    ///   - key: 32 bytes.
    package static func seal(
        _ message: Span<UInt8>, nonce: Span<UInt8>, key: Span<UInt8>
    ) -> [UInt8] {
        precondition(nonce.count == nonceBytes && key.count == 32)
        Sodium.start()
        var box = [UInt8](repeating: 0, count: message.count + overheadBytes)
        for index in nonce.indices { box[index] = nonce[index] }
        box.withMutablePointer { output in
            message.withPointer { input in
                nonce.withPointer { nonce in
                    key.withPointer { key in
                        _ = unsafe crypto_secretbox_easy(
                            output + nonceBytes, input, UInt64(message.count), nonce, key)
                    }
                }
            }
        }
        return box
    }
}
