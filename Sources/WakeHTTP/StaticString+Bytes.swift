/// A constant's UTF-8 bytes, bounds-checked, in the program's read-only memory.
extension StaticString {
    var count: Int { utf8CodeUnitCount }

    subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < utf8CodeUnitCount, "index out of range")
        return unsafe utf8Start[index]
    }
}
