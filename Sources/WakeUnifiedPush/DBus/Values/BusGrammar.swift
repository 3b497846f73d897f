import WakeSystem

/// The grammar of names and paths (D-Bus Specification, "Valid Names", "Valid Object Paths").
package enum BusGrammar {
    /// UTF-8 without NUL.
    package static func isText(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && (try? UTF8Span(validating: bytes.span)) != nil
    }

    package static func isObjectPath(_ bytes: [UInt8]) -> Bool {
        guard bytes.first == slash else { return false }
        if bytes.count == 1 { return true }
        return bytes.dropFirst().split(separator: slash, omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0.allSatisfy(isWordByte) }
    }

    /// Interfaces and errors: two or more words with dots between them.
    package static func isInterface(_ bytes: [UInt8]) -> Bool {
        isDotted(bytes[...]) { isWord($0) }
    }

    /// One word: the name of a method or signal.
    package static func isMember(_ bytes: [UInt8]) -> Bool {
        bytes.count <= BusLimits.nameBytes && isWord(bytes[...])
    }

    /// A unique or a well-known name.
    package static func isBusName(_ bytes: [UInt8]) -> Bool {
        isUniqueName(bytes) || isWellKnownName(bytes)
    }

    /// The name that the bus assigns to a connection, such as `:1.7`.
    package static func isUniqueName(_ bytes: [UInt8]) -> Bool {
        bytes.first == UInt8(ascii: ":") && bytes.count <= BusLimits.nameBytes
            && isDotted(bytes.dropFirst()) { element in
                !element.isEmpty && element.allSatisfy { isWordByte($0) || $0 == dash }
            }
    }

    package static func isWellKnownName(_ bytes: [UInt8]) -> Bool {
        isDotted(bytes[...]) { isWord($0, allowsDash: true) }
    }

    private static let slash = UInt8(ascii: "/")
    private static let dash = UInt8(ascii: "-")

    private static func isDotted(
        _ bytes: ArraySlice<UInt8>, _ isElement: (ArraySlice<UInt8>) -> Bool
    ) -> Bool {
        guard bytes.count <= BusLimits.nameBytes else { return false }
        let elements = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return elements.count >= 2 && elements.allSatisfy(isElement)
    }

    private static func isWord(_ bytes: ArraySlice<UInt8>, allowsDash: Bool = false) -> Bool {
        guard let first = bytes.first, !first.isDigit else { return false }
        return bytes.allSatisfy { isWordByte($0) || allowsDash && $0 == dash }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte.lowercased) || byte.isDigit || byte == UInt8(ascii: "_")
    }
}
