import CLinux

/// Wire bytes: copying in, numbers in network order, and wiping what was secret.
extension Array where Element == UInt8 {
    package mutating func append(span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    package mutating func append(big value: UInt16) {
        append(UInt8(truncatingIfNeeded: value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }

    package mutating func append(big value: UInt32) {
        append(big: UInt16(truncatingIfNeeded: value >> 16))
        append(big: UInt16(truncatingIfNeeded: value))
    }

    package mutating func append(big value: UInt64) {
        append(big: UInt32(truncatingIfNeeded: value >> 32))
        append(big: UInt32(truncatingIfNeeded: value))
    }

    /// Overwrites four bytes that are there.
    mutating func put(big value: UInt32, at position: Int) {
        self[position] = UInt8(truncatingIfNeeded: value >> 24)
        self[position + 1] = UInt8(truncatingIfNeeded: value >> 16)
        self[position + 2] = UInt8(truncatingIfNeeded: value >> 8)
        self[position + 3] = UInt8(truncatingIfNeeded: value)
    }

    /// Appends `template` with `hole` at `place` and `stream` in network order where it belongs: a
    /// whole request in one go.
    mutating func append(
        template: [UInt8], hole: Span<UInt8>, at place: Int, stream: UInt32, at first: Int,
        and second: Int
    ) {
        precondition(
            place >= 0 && place <= template.count - hole.count
                && (0...template.count - 4).contains(first)
                && (0...template.count - 4).contains(second),
            "a hole beyond the template")
        let start = count
        append(span: template.span)
        unsafe withUnsafeMutableBytes { bytes in
            let request = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
            unsafe hole.withUnsafeBytes { hole in
                unsafe UnsafeMutableRawBufferPointer(rebasing: request[place...])
                    .copyMemory(from: hole)
            }
            unsafe request.storeBytes(of: stream.bigEndian, toByteOffset: first, as: UInt32.self)
            unsafe request.storeBytes(of: stream.bigEndian, toByteOffset: second, as: UInt32.self)
        }
    }

    /// Overwrites everything with zeros: these bytes held push tokens.
    mutating func wipe() {
        unsafe withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe linux_wipe(base, buffer.count)
        }
    }
}

extension Span where Element == UInt8 {
    package func big16(at position: Int) -> UInt16 {
        UInt16(self[position]) << 8 | UInt16(self[position + 1])
    }

    package func big32(at position: Int) -> UInt32 {
        precondition(position >= 0 && position <= count - 4, "a number beyond the bytes")
        return UInt32(
            bigEndian: unsafe bytes.unsafeLoadUnaligned(
                fromByteOffset: position, as: UInt32.self))
    }
}
