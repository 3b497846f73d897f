internal import CCrypto
import WakeBytes

/// SHA-256 (FIPS 180-4), where a protocol asks for it; for our own formats there is ``Blake2b``.
package enum SHA256 {
    /// - Returns: 32 bytes.
    package static func hash(_ bytes: Span<UInt8>) -> [UInt8] {
        guard let functions = unsafe LinkedLibrary.functions else {
            return PlainSHA256.hash(bytes)
        }
        var hash = [UInt8](repeating: 0, count: 32)
        hash.withMutablePointer { output in
            bytes.withPointer {
                _ = unsafe functions.pointee.sha256(output, $0, UInt64(bytes.count))
            }
        }
        return hash
    }
}

/// SipHash-2-4 with an output of 128 bits (libsodium manual, "Short-input hashing"): a pseudorandom
/// function of short inputs, in a sixth of the time of a BLAKE2b.
package enum SipHash128 {
    /// - Parameter key: its 16 bytes as two words whose first byte is the lowest.
    /// - Returns: 16 bytes, as two such words.
    package static func hash(_ bytes: Span<UInt8>, key: SIMD2<UInt64>) -> SIMD2<UInt64> {
        guard let functions = unsafe LinkedLibrary.functions else {
            return PlainSipHash.hash(bytes, key: key)
        }
        var key = SIMD2(key[0].littleEndian, key[1].littleEndian)
        var hash = SIMD2<UInt64>()
        withBytes(of: &hash) { output in
            withBytes(of: &key) { key in
                bytes.withPointer { input in
                    _ = unsafe functions.pointee.siphash128(
                        output, input, UInt64(bytes.count), key)
                }
            }
        }
        return SIMD2(UInt64(littleEndian: hash[0]), UInt64(littleEndian: hash[1]))
    }

    @inline(__always)
    @safe private static func withBytes(
        of words: inout SIMD2<UInt64>, _ body: (UnsafeMutablePointer<UInt8>) -> Void
    ) {
        unsafe withUnsafeMutablePointer(to: &words) { pointer in
            unsafe pointer.withMemoryRebound(to: UInt8.self, capacity: 16) { unsafe body($0) }
        }
    }
}
