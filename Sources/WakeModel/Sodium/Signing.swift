private import CSodium
import WakeSystem

/// An Ed25519 key pair, kept as its 32-byte seed in guarded memory (RFC 8032 §5.1.5).
package struct SigningKey: Sendable {
    package static let seedBytes = 32
    private let secret: KeyMemory
    package let verifyingKey: VerifyingKey

    /// - Parameter seed: 32 bytes.
    package init(seed: Span<UInt8>) {
        precondition(seed.count == Self.seedBytes)
        Sodium.start()
        var publicKey = [UInt8](repeating: 0, count: 32)
        secret = KeyMemory(count: 64) { secret in
            secret.withMutablePointer { secret in
                publicKey.withMutablePointer { publicKey in
                    seed.withPointer { seed in
                        _ = unsafe crypto_sign_seed_keypair(publicKey, secret, seed)
                    }
                }
            }
        }
        verifyingKey = VerifyingKey(trusted: publicKey)
    }

    /// - Returns: 64 bytes.
    package func sign(_ message: Span<UInt8>) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 64)
        secret.withSpan { secret in
            signature.withMutablePointer { signature in
                message.withPointer { bytes in
                    secret.withPointer { secret in
                        _ = unsafe crypto_sign_detached(
                            signature, nil, bytes, UInt64(message.count), secret)
                    }
                }
            }
        }
        return signature
    }
}

/// An Ed25519 public key.
package struct VerifyingKey: Sendable, Hashable {
    /// 32 bytes.
    package let bytes: [UInt8]

    /// - Returns: nil unless 32 bytes that are a point of full order.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        Sodium.start()
        let valid = bytes.withPointer { unsafe crypto_core_ed25519_is_valid_point($0) == 1 }
        guard valid else { return nil }
        self.bytes = bytes
    }

    fileprivate init(trusted bytes: [UInt8]) { self.bytes = bytes }

    /// 43 characters of base64url.
    package var text: String { String(decoding: Base64URL.encode(bytes.span), as: UTF8.self) }

    package init?(text: String) {
        let characters = Array(text.utf8)
        guard let bytes = Base64URL.decode(characters.span) else { return nil }
        self.init(bytes)
    }

    package func verifies(_ signature: Span<UInt8>, of message: Span<UInt8>) -> Bool {
        guard signature.count == 64 else { return false }
        return signature.withPointer { signature in
            message.withPointer { content in
                bytes.withPointer { key in
                    unsafe crypto_sign_verify_detached(
                        signature, content, UInt64(message.count), key) == 0
                }
            }
        }
    }
}
