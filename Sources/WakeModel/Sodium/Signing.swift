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
