private import CSodium
@_exported public import WakeCrypto
import WakeSystem

/// The one-time start of libsodium. Every type of this module starts it for itself.
package enum Sodium {
    /// Safe to call often and from any thread (libsodium manual, "Usage").
    package static func start() { _ = started }

    private static let started: Bool = {
        precondition(sodium_init() >= 0, "libsodium could not be initialised")
        return true
    }()

    package static func random(_ count: Int) -> [UInt8] {
        start()
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withMutablePointer { unsafe randombytes_buf($0, count) }
        return bytes
    }
}

/// ``SHA256`` of bytes as they come, for files.
package struct SHA256Stream: ~Copyable {
    private var state = crypto_hash_sha256_state()

    package init() {
        Sodium.start()
        _ = unsafe crypto_hash_sha256_init(&state)
    }

    package mutating func update(_ bytes: Span<UInt8>) {
        _ = bytes.withPointer { unsafe crypto_hash_sha256_update(&state, $0, UInt64(bytes.count)) }
    }

    /// Ends the hash: 32 bytes.
    package consuming func finish() -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: 32)
        _ = hash.withMutablePointer { unsafe crypto_hash_sha256_final(&state, $0) }
        return hash
    }
}

/// SipHash-2-4 (libsodium manual, "Short-input hashing"): 64 bits, for tables that must not collide
/// on purpose.
package struct ShortHash: Sendable {
    private let key: KeyMemory

    /// With a key of its own, which nobody else ever has.
    package init() { key = KeyMemory.random(Int(crypto_shorthash_KEYBYTES)) }

    package func hash(_ bytes: Span<UInt8>) -> UInt64 { withKey { Self.hash(bytes, key: $0) } }

    /// Lends the key for many hashes: counting who uses it would cost as much as one of them.
    package func withKey<Result>(_ body: (Span<UInt8>) -> Result) -> Result { key.withSpan(body) }

    /// - Parameter key: 16 bytes.
    package static func hash(_ bytes: Span<UInt8>, key: Span<UInt8>) -> UInt64 {
        precondition(key.count == Int(crypto_shorthash_KEYBYTES))
        var output = InlineArray<8, UInt8>(repeating: 0)
        var hash = output.mutableSpan
        key.withPointer { key in
            bytes.withPointer { start in
                hash.withMutablePointer { output in
                    _ = unsafe crypto_shorthash(output, start, UInt64(bytes.count), key)
                }
            }
        }
        return output.span.littleEndian(at: 0)
    }
}
