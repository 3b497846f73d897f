private import CSodium

/// SipHash-2-4 (libsodium manual, "Short-input hashing"): 64 bits, keyed; for tables in memory that
/// must not collide on purpose.
package struct ShortHash: Sendable {
    private let key: KeyMemory

    /// With a key of its own, which nobody else ever has.
    package init() {
        key = KeyMemory.random(Int(crypto_shorthash_KEYBYTES))
    }

    package func hash(_ bytes: Span<UInt8>) -> UInt64 {
        var output = [UInt8](repeating: 0, count: Int(crypto_shorthash_BYTES))
        key.withSpan { key in
            key.withPointer { key in
                bytes.withPointer { start in
                    output.withMutablePointer { output in
                        _ = unsafe crypto_shorthash(output, start, UInt64(bytes.count), key)
                    }
                }
            }
        }
        return output.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
