private import Glibc
import WakeSystem

/// Bytes that must not outlive their use: tokens, endpoints, secrets. Heap memory that is never
/// resized, so never copied, and wiped on release with `explicit_bzero` (bzero(3)).
package final class SecretBytes: Sendable {
    /// Pointers are not `Sendable`; this memory is immutable between `init` and `deinit`.
    private let address: UInt
    package let count: Int

    package init(_ bytes: Span<UInt8>) {
        count = bytes.count
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Swift.max(bytes.count, 1), alignment: 1)
        unsafe bytes.withUnsafeBytes { unsafe memory.copyMemory(from: $0) }
        address = UInt(bitPattern: memory.baseAddress)
    }

    package convenience init(_ bytes: [UInt8]) { self.init(bytes.span) }

    deinit {
        guard let memory = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return }
        unsafe explicit_bzero(memory, count)
        unsafe memory.deallocate()
    }

    /// Lends the bytes for the length of one call.
    package func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = unsafe UnsafePointer<UInt8>(bitPattern: address)
        let buffer = unsafe UnsafeBufferPointer(start: start, count: count)
        return try unsafe body(Span(_unsafeElements: buffer))
    }

    /// A plain copy, for the rare caller that must hand bytes on; it is not wiped.
    package func copy() -> [UInt8] { withSpan { $0.array } }
}

extension SecretBytes: Equatable {
    /// Equal in time that depends on the lengths alone.
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        guard left.count == right.count else { return false }
        return left.withSpan { a in
            right.withSpan { b in
                var difference: UInt8 = 0
                for index in a.indices { difference |= a[index] ^ b[index] }
                return difference == 0
            }
        }
    }
}

extension SecretBytes: Redacted {
    package var description: String { "(\(count) secret bytes)" }
}
