internal import CCrypto
import WakeBytes

/// BLAKE2b (RFC 7693) of 16 to 64 bytes, keyed or not, in one call or as the bytes come.
@safe package final class Blake2b {
    /// libsodium's functions, and its state in memory of its own.
    private let library: (functions: UnsafePointer<wake_crypto>, state: UnsafeMutableRawPointer)?
    private var plain: PlainBlake2b?
    private let count: Int

    /// - Parameter key: up to 64 bytes; nil for an unkeyed hash of `count` bytes, 16 to 64.
    package init(count: Int = 32, key: Span<UInt8>? = nil) {
        let keyCount = key?.count ?? 0
        precondition((16...64).contains(count) && keyCount <= 64)
        self.count = count
        guard let functions = unsafe LinkedLibrary.functions else {
            unsafe library = nil
            if let key {
                plain = PlainBlake2b(count: count, key: key)
            } else {
                plain = PlainBlake2b(count: count)
            }
            return
        }
        // libsodium manual: the state must be aligned to 64 bytes.
        let state = unsafe UnsafeMutableRawPointer.allocate(
            byteCount: functions.pointee.blake2b_state_bytes, alignment: 64)
        if let key {
            key.withPointer {
                _ = unsafe functions.pointee.blake2b_init(state, $0, keyCount, count)
            }
        } else {
            _ = unsafe functions.pointee.blake2b_init(state, nil, 0, count)
        }
        unsafe library = (functions, state)
    }

    deinit {
        guard let (functions, state) = unsafe library else { return }
        unsafe wake_wipe(state, functions.pointee.blake2b_state_bytes)
        unsafe state.deallocate()
    }

    package func update(_ bytes: Span<UInt8>) {
        guard let (functions, state) = unsafe library else {
            plain?.update(bytes)
            return
        }
        bytes.withPointer {
            _ = unsafe functions.pointee.blake2b_update(state, $0, UInt64(bytes.count))
        }
    }

    /// Ends the hash; the object must not be used again.
    package func finish() -> [UInt8] {
        guard let (functions, state) = unsafe library else { return plain?.finish() ?? [] }
        var hash = [UInt8](repeating: 0, count: count)
        hash.withMutablePointer { _ = unsafe functions.pointee.blake2b_final(state, $0, count) }
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
        guard let functions = unsafe LinkedLibrary.functions else {
            var hash = PlainBlake2b(count: count, key: key)
            hash.update(bytes)
            return hash.finish()
        }
        var hash = [UInt8](repeating: 0, count: count)
        hash.withMutablePointer { output in
            bytes.withPointer { input in
                key.withPointer { keyBytes in
                    _ = unsafe functions.pointee.blake2b(
                        output, count, input, UInt64(bytes.count), keyBytes, key.count)
                }
            }
        }
        return hash
    }

    /// The unkeyed hash of two runs of bytes, end to end, as words whose first byte is the lowest;
    /// millions of them make no memory.
    package static func words(_ head: Span<UInt8>, _ tail: Span<UInt8>) -> SIMD4<UInt64> {
        guard let functions = unsafe LinkedLibrary.functions else {
            var hash = PlainBlake2b(count: 32)
            hash.update(head)
            hash.update(tail)
            return hash.finishWords()
        }
        return words { output in
            head.withPointer { first in
                tail.withPointer { second in
                    _ = unsafe functions.pointee.blake2b_of_two(
                        output, 32, first, UInt64(head.count), second, UInt64(tail.count))
                }
            }
        }
    }

    /// The first 64 bits of the unkeyed hash of 32 bytes; millions of them make no memory.
    package static func start(of bytes: Span<UInt8>) -> UInt64 {
        guard let functions = unsafe LinkedLibrary.functions else {
            var hash = PlainBlake2b(count: 32)
            hash.update(bytes)
            return hash.finishWords()[0].byteSwapped
        }
        return words { output in
            bytes.withPointer { input in
                _ = unsafe functions.pointee.blake2b(
                    output, 32, input, UInt64(bytes.count), nil, 0)
            }
        }[0].byteSwapped
    }

    /// - Parameter body: writes 32 bytes.
    @inline(__always)
    @safe private static func words(
        _ body: (UnsafeMutablePointer<UInt8>) -> Void
    ) -> SIMD4<UInt64> {
        var words = SIMD4<UInt64>()
        unsafe withUnsafeMutablePointer(to: &words) { pointer in
            unsafe pointer.withMemoryRebound(to: UInt8.self, capacity: 32) { unsafe body($0) }
        }
        return SIMD4(
            UInt64(littleEndian: words[0]), UInt64(littleEndian: words[1]),
            UInt64(littleEndian: words[2]), UInt64(littleEndian: words[3]))
    }
}
