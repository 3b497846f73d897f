private import CCrypto
import WakeBytes

/// Bytes that must not outlive their use: tokens, endpoints, secrets. Heap memory that is never
/// resized, so never copied, and wiped on release (`wake_wipe`).
package struct SecretBytes: Sendable {
    private let memory: SecretMemory
    private let start: UInt32
    private let length: UInt32

    package init(_ bytes: Span<UInt8>) {
        var pool = SecretPool(chunkBytes: bytes.count)
        self = pool.insert(bytes)
    }

    package init(_ bytes: [UInt8]) { self.init(bytes.span) }

    fileprivate init(_ memory: SecretMemory, at start: Int, count: Int) {
        self.memory = memory
        self.start = UInt32(start)
        length = UInt32(count)
    }

    package var count: Int { Int(length) }

    /// Lends the bytes for the length of one call.
    package func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = unsafe UnsafePointer<UInt8>(bitPattern: memory.address + UInt(start))
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

/// Makes secrets that come and go together, such as those of a page of rows: a kilobyte of them
/// shares one piece of memory, which is wiped when the last of them is released.
package struct SecretPool: ~Copyable {
    private let chunkBytes: Int
    private var memory: SecretMemory?
    private var used = 0

    /// - Parameter chunkBytes: shared by neighbours. One of them that stays keeps it all.
    package init(chunkBytes: Int = 1024) { self.chunkBytes = chunkBytes }

    /// Copies bytes.
    package mutating func insert(_ bytes: Span<UInt8>) -> SecretBytes {
        let memory = memory(for: bytes.count)
        memory.fill(at: used, bytes)
        defer { used += bytes.count }
        return SecretBytes(memory, at: used, count: bytes.count)
    }

    private mutating func memory(for count: Int) -> SecretMemory {
        if let memory, count <= memory.capacity - used { return memory }
        let memory = SecretMemory(capacity: Swift.max(count, chunkBytes, 1))
        self.memory = memory
        used = 0
        return memory
    }
}

/// The memory of secrets. Pointers are not `Sendable`; what a secret covers is written once, before
/// anybody has the secret.
private final class SecretMemory: Sendable {
    let address: UInt
    let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
        let memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 1)
        address = UInt(bitPattern: memory)
    }

    deinit {
        guard let memory = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return }
        unsafe wake_wipe(memory, capacity)
        unsafe memory.deallocate()
    }

    func fill(at offset: Int, _ bytes: Span<UInt8>) {
        precondition(offset >= 0 && bytes.count <= capacity - offset, "more than the memory holds")
        guard let memory = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return }
        unsafe bytes.withUnsafeBytes { source in
            guard let start = source.baseAddress else { return }
            unsafe (memory + offset).copyMemory(from: start, byteCount: source.count)
        }
    }
}
