private import CSodium
import WakeSystem

/// BLAKE2b (RFC 7693) of 16 to 64 bytes, keyed or not, in one call or as the bytes come.
@safe package final class Blake2b {
    private let state: UnsafeMutableRawPointer
    private let count: Int

    /// - Parameter key: up to 64 bytes; nil for an unkeyed hash of `count` bytes, 16 to 64.
    package init(count: Int = 32, key: Span<UInt8>? = nil) {
        let keyCount = key?.count ?? 0
        precondition((16...64).contains(count) && keyCount <= 64)
        Sodium.start()
        self.count = count
        // libsodium manual: the state must be aligned to 64 bytes.
        unsafe state = UnsafeMutableRawPointer.allocate(
            byteCount: crypto_generichash_statebytes(), alignment: 64)
        if let key {
            _ = key.withPointer { unsafe wake_blake2b_init(state, $0, keyCount, count) }
        } else {
            _ = unsafe wake_blake2b_init(state, nil, 0, count)
        }
    }

    deinit {
        unsafe sodium_memzero(state, crypto_generichash_statebytes())
        unsafe state.deallocate()
    }

    package func update(_ bytes: Span<UInt8>) {
        _ = bytes.withPointer { unsafe wake_blake2b_update(state, $0, UInt64(bytes.count)) }
    }

    /// Ends the hash; the object must not be used again.
    package func finish() -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: count)
        _ = hash.withMutablePointer { unsafe wake_blake2b_final(state, $0, count) }
        return hash
    }

    /// The unkeyed hash of one run of bytes.
    package static func hash(_ bytes: Span<UInt8>, count: Int = 32) -> [UInt8] {
        let noKey: [UInt8] = []
        return hash(bytes, count: count, key: noKey.span)
    }

    /// The hash of one run of bytes under a key of up to 64 bytes.
    package static func hash(_ bytes: Span<UInt8>, count: Int = 32, key: Span<UInt8>) -> [UInt8] {
        precondition((16...64).contains(count) && key.count <= 64)
        var hash = [UInt8](repeating: 0, count: count)
        hash.withMutablePointer { output in
            bytes.withPointer { input in
                key.withPointer { keyBytes in
                    _ = unsafe crypto_generichash(
                        output, count, input, UInt64(bytes.count), keyBytes, key.count)
                }
            }
        }
        return hash
    }

    /// The unkeyed hash of two runs of bytes, end to end; millions of them make no memory.
    package static func hash(_ head: Span<UInt8>, _ tail: Span<UInt8>) -> InlineArray<32, UInt8> {
        var output = InlineArray<32, UInt8>(repeating: 0)
        var hash = output.mutableSpan
        hash.withMutablePointer { output in
            head.withPointer { first in
                tail.withPointer { second in
                    _ = unsafe wake_blake2b_of_two(
                        output, 32, first, UInt64(head.count), second, UInt64(tail.count))
                }
            }
        }
        return output
    }

    /// The first 64 bits of the unkeyed hash of 32 bytes; millions of them make no memory.
    package static func start(of bytes: Span<UInt8>) -> UInt64 {
        var output = InlineArray<32, UInt8>(repeating: 0)
        var hash = output.mutableSpan
        hash.withMutablePointer { output in
            bytes.withPointer { input in
                _ = unsafe crypto_generichash(output, 32, input, UInt64(bytes.count), nil, 0)
            }
        }
        return output.span.bigEndian(at: 0)
    }
}

/// SHA-256 (FIPS 180-4), where a protocol asks for it; for our own formats there is ``Blake2b``.
package struct SHA256: ~Copyable {
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

    /// - Returns: 32 bytes.
    package static func hash(_ bytes: Span<UInt8>) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
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
        let hash: InlineArray<8, UInt8> = output(bytes, key) {
            unsafe crypto_shorthash($0, $1, $2, $3)
        }
        return hash.span.littleEndian(at: 0)
    }

    /// SipHash-2-4 with an output of 128 bits: a pseudorandom function of short inputs, in a sixth
    /// of the time of a BLAKE2b. 16 bytes.
    /// - Parameter key: 16 bytes.
    package static func hash128(
        _ bytes: Span<UInt8>, key: Span<UInt8>
    ) -> InlineArray<16, UInt8> {
        output(bytes, key) { unsafe crypto_shorthash_siphashx24($0, $1, $2, $3) }
    }

    /// - Parameter function: writes as many bytes as the result has.
    @inline(__always)
    @safe private static func output<let count: Int>(
        _ bytes: Span<UInt8>, _ key: Span<UInt8>,
        _ function: (
            UnsafeMutablePointer<UInt8>, UnsafePointer<UInt8>, UInt64, UnsafePointer<UInt8>
        ) -> Int32
    ) -> InlineArray<count, UInt8> {
        // crypto_shorthash_KEYBYTES, of both lengths.
        precondition(key.count == 16)
        var output = InlineArray<count, UInt8>(repeating: 0)
        var hash = output.mutableSpan
        key.withPointer { key in
            bytes.withPointer { start in
                hash.withMutablePointer { output in
                    _ = unsafe function(output, start, UInt64(bytes.count), key)
                }
            }
        }
        return output
    }
}
