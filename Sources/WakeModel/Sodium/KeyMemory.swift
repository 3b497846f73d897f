private import CSodium
private import Synchronization
import WakeSystem

/// Key bytes in memory that is locked, fenced, not in core dumps, read-only after `init`, and wiped
/// on release (libsodium manual, "Secure memory").
package final class KeyMemory: Sendable {
    private let address: UInt
    package let count: Int
    private static let isAllLocked = Atomic(true)

    /// Whether any could not be locked, as by `ulimit -l 0`: it may be written to swap.
    package static var isSwappable: Bool { !isAllLocked.load(ordering: .relaxed) }

    /// Fills guarded memory in place.
    package init(count: Int, filling fill: (inout MutableSpan<UInt8>) -> Void) {
        Sodium.start()
        guard let memory = unsafe sodium_malloc(count)
        else { preconditionFailure("out of lockable memory for keys") }
        // sodium_malloc has tried, and does not tell.
        if unsafe sodium_mlock(memory, count) != 0 {
            Self.isAllLocked.store(false, ordering: .relaxed)
        }
        let buffer = unsafe UnsafeMutableBufferPointer(
            start: memory.assumingMemoryBound(to: UInt8.self), count: count)
        var span = unsafe MutableSpan(_unsafeElements: buffer)
        fill(&span)
        unsafe sodium_mprotect_readonly(memory)
        address = UInt(bitPattern: memory)
        self.count = count
    }

    package convenience init(_ bytes: Span<UInt8>) {
        self.init(count: bytes.count) { memory in
            for index in bytes.indices { memory[index] = bytes[index] }
        }
    }

    package static func random(_ count: Int = 32) -> KeyMemory {
        KeyMemory(count: count) { memory in
            memory.withMutablePointer { unsafe randombytes_buf($0, count) }
        }
    }

    deinit { unsafe sodium_free(UnsafeMutableRawPointer(bitPattern: address)) }

    /// Lends the bytes for the length of one call.
    package func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let buffer = unsafe UnsafeBufferPointer(
            start: UnsafePointer<UInt8>(bitPattern: address), count: count)
        return try body(unsafe Span(_unsafeElements: buffer))
    }

    /// Compares in a time that depends on the number of bytes alone (`sodium_memcmp`).
    package func isEqual(to other: Span<UInt8>) -> Bool {
        guard other.count == count else { return false }
        return withSpan { own in
            own.withPointer { own in
                other.withPointer { unsafe sodium_memcmp(own, $0, count) == 0 }
            }
        }
    }

    /// A subkey of 32 bytes (`crypto_kdf`, BLAKE2b); the context is exactly 8 ASCII characters.
    package func derive(_ number: UInt64, context: StaticString) -> KeyMemory {
        precondition(count == 32 && context.utf8CodeUnitCount == 8)
        return withSpan { master in
            KeyMemory(count: 32) { memory in
                memory.withMutablePointer { subkey in
                    master.withPointer { master in
                        let name = unsafe UnsafeRawPointer(context.utf8Start)
                            .assumingMemoryBound(to: CChar.self)
                        _ = unsafe crypto_kdf_derive_from_key(subkey, 32, number, name, master)
                    }
                }
            }
        }
    }
}

extension KeyMemory: Redacted {
    package var description: String { "(key)" }
}
