import CSodium

/// SHA-256 by libsodium.
enum SHA256 {
    static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: 32)
        _ = unsafe crypto_hash_sha256(&hash, bytes, UInt64(bytes.count))
        return hash
    }
}
