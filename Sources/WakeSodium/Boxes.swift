private import CSodium
import WakeSystem

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
        precondition(key.count == 32 && plaintext.count + overheadBytes == sealed.count)
        return key.withSpan { key in
            plaintext.withMutablePointer { output in
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
}

/// Opens many sealed boxes of one size under one key, and of each decrypts the start first: what
/// follows is padding, as a rule, and would cost a quarter of the box. Each box is authenticated as
/// a whole before a byte of it is decrypted, as `crypto_aead_xchacha20poly1305_ietf_decrypt` does,
/// by the same functions of libsodium (RFC 8439 §2.8; XChaCha: draft-irtf-cfrg-xchacha §2.3).
package struct SealedBoxReader: ~Copyable {
    /// Bytes of a plaintext that are decrypted with the box's own key for its tag: four blocks of
    /// the cipher in all, which libsodium computes at once.
    package static let startBytes = 3 * blockBytes
    private static let blockBytes = 64

    /// Places in `memory`: the key and the nonce of one box, its first four blocks of the cipher,
    /// its tag, and what the tag is computed of.
    private static let nonceStart = 32
    private static let blocksStart = 48
    private static let tagStart = blocksStart + 4 * blockBytes
    private static let textStart = tagStart + 16

    private let plaintextBytes: Int
    private let prefixBytes: Int
    private let associatedBytes: Int
    /// See RFC 8439 §2.8: associated bytes ‖ zeros ‖ ciphertext ‖ zeros ‖ both lengths.
    private let textBytes: Int
    private var memory: [UInt8]

    /// - Parameters:
    ///   - prefix: the associated bytes that all boxes have.
    ///   - associatedBytes: number of those that differ.
    package init(plaintextBytes: Int, prefix: [UInt8], associatedBytes: Int) {
        precondition(plaintextBytes >= Self.startBytes)
        self.plaintextBytes = plaintextBytes
        self.associatedBytes = associatedBytes
        prefixBytes = prefix.count
        let associated = prefix.count + associatedBytes
        let before = Self.padded(associated) + Self.padded(plaintextBytes)
        textBytes = before + 16
        memory = [UInt8](repeating: 0, count: Self.textStart + textBytes)
        memory.put(prefix, at: Self.textStart)
        memory.put(littleEndian: UInt64(associated), at: Self.textStart + before)
        memory.put(littleEndian: UInt64(plaintextBytes), at: Self.textStart + before + 8)
    }

    private static func padded(_ count: Int) -> Int { (count + 15) / 16 * 16 }

    /// Authenticates a box, and decrypts the first ``startBytes`` of its plaintext.
    /// - Parameters:
    ///   - key: 32 bytes; lent once for many boxes, since counting who uses it would cost as well.
    ///   - plaintext: as many bytes as were sealed, or the start of these.
    /// - Returns: false when key, associated bytes or any bit differ.
    package mutating func open(
        _ sealed: Span<UInt8>, associated: Span<UInt8>, key: Span<UInt8>,
        into plaintext: inout MutableSpan<UInt8>
    ) -> Bool {
        precondition(key.count == 32)
        precondition(sealed.count == plaintextBytes + SealedBox.overheadBytes)
        precondition(associated.count == associatedBytes && plaintext.count >= Self.startBytes)
        let ciphertext = SealedBox.nonceBytes
        let associatedStart = Self.textStart + prefixBytes
        let textStart = Self.textStart + Self.padded(prefixBytes + associatedBytes)
        return memory.withMutablePointer { [plaintextBytes, textBytes] memory in
            sealed.withPointer { box in
                key.withPointer { key in
                    _ = unsafe crypto_core_hchacha20(memory, box, key, nil)
                }
                unsafe (memory + Self.nonceStart + 4).update(from: box + 16, count: 8)
                _ = unsafe crypto_stream_chacha20_ietf(
                    memory + Self.blocksStart, 4 * UInt64(Self.blockBytes),
                    memory + Self.nonceStart, memory)
                associated.withPointer { associated in
                    unsafe (memory + associatedStart)
                        .update(from: associated, count: associatedBytes)
                }
                unsafe (memory + textStart)
                    .update(from: box + ciphertext, count: plaintextBytes)
                _ = unsafe crypto_onetimeauth_poly1305(
                    memory + Self.tagStart, memory + Self.textStart, UInt64(textBytes),
                    memory + Self.blocksStart)
                guard
                    unsafe crypto_verify_16(
                        memory + Self.tagStart, box + ciphertext + plaintextBytes) == 0
                else { return false }
                plaintext.withMutablePointer { plaintext in
                    for index in 0..<Self.startBytes {
                        unsafe plaintext[index] =
                            box[ciphertext + index]
                            ^ memory[Self.blocksStart + Self.blockBytes + index]
                    }
                }
                return true
            }
        }
    }

    /// Decrypts what follows the start of the box that was opened last.
    /// - Parameter plaintext: as many bytes as were sealed.
    package mutating func decryptRest(
        of sealed: Span<UInt8>, into plaintext: inout MutableSpan<UInt8>
    ) {
        precondition(sealed.count == plaintextBytes + SealedBox.overheadBytes)
        precondition(plaintext.count == plaintextBytes)
        memory.withMutablePointer { memory in
            sealed.withPointer { box in
                plaintext.withMutablePointer { plaintext in
                    _ = unsafe crypto_stream_chacha20_ietf_xor_ic(
                        plaintext + Self.startBytes, box + SealedBox.nonceBytes + Self.startBytes,
                        UInt64(sealed.count - SealedBox.overheadBytes - Self.startBytes),
                        memory + Self.nonceStart, 4, memory)
                }
            }
        }
    }

    /// Overwrites what is left of the last box; nothing is to be opened any more.
    package mutating func wipe() { memory.wipe() }
}

/// `crypto_secretbox` (XSalsa20-Poly1305): nonce (24) ‖ tag (16) ‖ ciphertext.
package enum SecretBox {
    package static let overheadBytes = 24 + 16

    /// - Parameters:
    ///   - nonce: 24 bytes, never twice under one key.
    ///   - key: 32 bytes.
    package static func seal(
        _ message: Span<UInt8>, nonce: Span<UInt8>, key: Span<UInt8>
    ) -> [UInt8] {
        precondition(nonce.count == 24 && key.count == 32)
        Sodium.start()
        var box = [UInt8](repeating: 0, count: message.count + overheadBytes)
        for index in 0..<24 { box[index] = nonce[index] }
        box.withMutablePointer { output in
            message.withPointer { input in
                nonce.withPointer { nonce in
                    key.withPointer { key in
                        _ = unsafe crypto_secretbox_easy(
                            output + 24, input, UInt64(message.count), nonce, key)
                    }
                }
            }
        }
        return box
    }

    /// - Returns: the message, or nil when the key or any bit differ.
    package static func open(_ box: Span<UInt8>, key: Span<UInt8>) -> [UInt8]? {
        precondition(key.count == 32)
        guard box.count >= overheadBytes else { return nil }
        Sodium.start()
        var message = [UInt8](repeating: 0, count: box.count - overheadBytes)
        let verified = message.withMutablePointer { output in
            box.withPointer { input in
                key.withPointer { key in
                    unsafe crypto_secretbox_open_easy(
                        output, input + 24, UInt64(box.count - 24), input, key) == 0
                }
            }
        }
        return verified ? message : nil
    }
}
