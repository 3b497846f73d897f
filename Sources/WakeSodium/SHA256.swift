private import CSodium

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
