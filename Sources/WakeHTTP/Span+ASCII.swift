/// Comparisons of wire bytes with constants: no `String` is ever made of what a client sent.
extension Span where Element == UInt8 {
    /// Whether these bytes are exactly `text`.
    func matches(_ text: StaticString) -> Bool {
        guard count == text.count else { return false }
        for index in 0..<count where self[index] != text[index] { return false }
        return true
    }

    /// Whether these bytes are `text`, ASCII letters of either case being equal.
    func matchesIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.count else { return false }
        for index in 0..<count where self[index].lowercased != text[index].lowercased {
            return false
        }
        return true
    }

    /// Whether these bytes are `other`, ASCII letters of either case being equal.
    func matchesIgnoringCase(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in 0..<count where self[index].lowercased != other[index].lowercased {
            return false
        }
        return true
    }
}

extension UInt8 {
    /// The byte, an ASCII capital made small.
    var lowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}
