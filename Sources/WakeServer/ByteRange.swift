/// The `Range` of a request for one run of bytes (RFC 9110 §14.1.2).
enum ByteRange: Equatable {
    /// No range, or one this service may ignore: the whole is sent.
    case whole
    /// `first` and the count that follows.
    case part(first: Int, count: Int)
    /// The range starts behind the end: 416.
    case unsatisfiable

    /// - Parameters:
    ///   - value: the field's value; nil when absent.
    ///   - size: bytes of the representation.
    init(_ value: ArraySlice<UInt8>?, size: Int) {
        let unit = Array("bytes=".utf8)
        // RFC 9110 §14.2: other units, several ranges and malformed ones may be ignored.
        guard let value, value.starts(with: unit) else {
            self = .whole
            return
        }
        let parts = value.dropFirst(unit.count).split(
            separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            self = .whole
            return
        }
        switch (Self.number(parts[0]), Self.number(parts[1])) {
        case (let first?, _) where parts[1].isEmpty:
            self = Self.clamp(first, size - 1, size)
        case (let first?, let last?) where first <= last:
            self = Self.clamp(first, min(last, size - 1), size)
        case (nil, let suffix?) where parts[0].isEmpty:
            self = suffix == 0 ? .unsatisfiable : Self.clamp(max(0, size - suffix), size - 1, size)
        default: self = .whole
        }
    }

    private static func clamp(_ first: Int, _ last: Int, _ size: Int) -> ByteRange {
        first < size ? .part(first: first, count: last - first + 1) : .unsatisfiable
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard (1...18).contains(digits.count) else { return nil }
        var value = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            value = value * 10 + Int(digit - 0x30)
        }
        return value
    }
}
