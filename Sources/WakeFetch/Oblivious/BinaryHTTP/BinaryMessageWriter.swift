import WakeSystem

/// Writes one message of known length (RFC 9292 §3.1) into memory that is not moved while it has
/// room for it: what is written may be a secret.
package struct BinaryMessageWriter {
    private var bytes: [UInt8] = []
    /// Where the header section begins, after two bytes for its length.
    private let start: Int

    /// - Parameter capacity: bytes of the whole message, at least.
    package init(
        method: StaticString, scheme: StaticString, authority: [UInt8], path: StaticString,
        capacity: Int
    ) {
        bytes.reserveCapacity(capacity)
        bytes.append(0)
        for text in [method.bytes, scheme.bytes, authority, path.bytes] {
            Self.append(text.span, to: &bytes)
        }
        start = bytes.count + 2
        bytes += [0, 0]
    }

    package init(status: UInt16, capacity: Int) {
        bytes.reserveCapacity(capacity)
        bytes.append(1)
        Self.append(Int(status), to: &bytes)
        start = bytes.count + 2
        bytes += [0, 0]
    }

    /// - Parameter name: in small letters.
    package mutating func add(_ name: StaticString, _ value: Span<UInt8>) {
        add(name.bytes.span, value)
    }

    package mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        Self.append(name, to: &bytes)
        Self.append(value, to: &bytes)
    }

    /// Ends the message with its content, no trailers, and zeros.
    /// - Parameter count: bytes in all; nil for no padding.
    /// - Returns: nil when it is longer.
    package mutating func finish(content: Span<UInt8>, paddedTo count: Int? = nil) -> [UInt8]? {
        let fields = bytes.count - start
        precondition(fields < 16_384, "a header section of ours is short")
        bytes.put(bigEndian: UInt16(fields) | 0x4000, at: start - 2)
        Self.append(content, to: &bytes)
        // The trailer section.
        bytes.append(0)
        if let count {
            guard bytes.count <= count else {
                bytes.wipe()
                return nil
            }
            bytes += repeatElement(0, count: count - bytes.count)
        }
        defer { bytes = [] }
        return bytes
    }

    private static func append(_ text: Span<UInt8>, to bytes: inout [UInt8]) {
        append(text.count, to: &bytes)
        bytes.append(span: text)
    }

    /// An integer of variable length (RFC 9000 §16).
    private static func append(_ value: Int, to bytes: inout [UInt8]) {
        switch value {
        case 0..<64: bytes.append(UInt8(value))
        case 64..<16_384: bytes.append(bigEndian: UInt16(value) | 0x4000)
        default:
            precondition(value < 1 << 30, "a message of ours is short")
            bytes.append(bigEndian: UInt32(value) | 0x8000_0000)
        }
    }
}
