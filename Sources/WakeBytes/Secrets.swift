private import CCrypto

extension MutableSpan where Element == UInt8 {
    /// Overwrites all bytes with zeros.
    package mutating func wipe() {
        unsafe withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe wake_wipe(base, buffer.count)
        }
    }
}

/// Overwriting of bytes in a way that no optimiser removes (see wake_wipe).
extension Array where Element == UInt8 {
    /// Overwrites all bytes with zeros; the count stays.
    package mutating func wipe() { wipe(0..<count) }

    package mutating func wipe(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        guard !range.isEmpty else { return }
        unsafe withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe wake_wipe(base + range.lowerBound, range.count)
        }
    }

    /// Appends; where that moves the bytes to a larger place, the former place is wiped.
    package mutating func appendWiping(_ more: Span<UInt8>) {
        let needed = count + more.count
        if needed > capacity {
            var larger: [UInt8] = []
            larger.reserveCapacity(Swift.max(needed, count * 2))
            larger.append(span: span)
            wipe()
            self = larger
        }
        append(span: more)
    }
}

/// A value that must not reach a log, message or dump: it prints as its type's name.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
}

extension Redacted {
    /// The type's name in parentheses.
    public var description: String { "(\(Self.self))" }
    /// As `description`.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
