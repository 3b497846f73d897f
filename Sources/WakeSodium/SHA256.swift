private import CSodium

/// SHA-256 (FIPS 180-4), where a protocol asks for it; for our own formats there is ``Blake2b``.
package enum SHA256 {
    /// - Returns: 32 bytes.
    package static func hash(_ bytes: Span<UInt8>) -> [UInt8] {
        Sodium.start()
        var hash = [UInt8](repeating: 0, count: 32)
        hash.withMutablePointer { output in
            bytes.withPointer { _ = unsafe crypto_hash_sha256(output, $0, UInt64(bytes.count)) }
        }
        return hash
    }
}
