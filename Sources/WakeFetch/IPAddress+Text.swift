/// Reading and writing of addresses as text, in one strict way. What inet_aton(3) also takes
/// (`127.1`, `0x7f000001`, `2130706433`, `0177.0.0.1`) is no address here, nor is a zone.
extension IPAddress {
    /// Four decimals without leading zeros, or the forms of RFC 4291 §2.2; nil for all else.
    package init?(_ text: [UInt8]) {
        // The longest: eight groups of four with the last two written as IPv4.
        guard (2...45).contains(text.count) else { return nil }
        if text.contains(UInt8(ascii: ":")) {
            guard let groups = Self.groups(of: text) else { return nil }
            self.init(.v6, groups.reduce(0) { $0 << 16 | UInt128($1) })
        } else {
            guard let value = Self.dotted(text[...]) else { return nil }
            self.init(.v4, UInt128(value))
        }
    }

    /// The same from a string.
    package init?(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// What `init` reads back; IPv6 as eight groups without `::`.
    package var text: [UInt8] {
        switch family {
        case .v4:
            Array(bytes.map { String($0) }.joined(separator: ".").utf8)
        case .v6:
            Array(
                stride(from: 112, through: 0, by: -16).map {
                    String(UInt16(truncatingIfNeeded: value >> UInt128($0)), radix: 16)
                }.joined(separator: ":").utf8)
        }
    }

    // MARK: IPv4

    private static func dotted(_ text: ArraySlice<UInt8>) -> UInt32? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard let octet = octet(part) else { return nil }
            value = value << 8 | UInt32(octet)
        }
        return value
    }

    /// No leading zero: inet_aton(3) would read an octal number.
    private static func octet(_ digits: ArraySlice<UInt8>) -> UInt8? {
        guard (1...3).contains(digits.count),
            digits.count == 1 || digits.first != UInt8(ascii: "0")
        else { return nil }
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return UInt8(exactly: value)
    }

    // MARK: IPv6

    /// The eight groups; `::` may stand once, for one group or more.
    private static func groups(of text: [UInt8]) -> [UInt16]? {
        let colon = UInt8(ascii: ":")
        guard
            let gap = text.indices.dropLast().first(where: { index in
                text[index] == colon && text[index + 1] == colon
            })
        else {
            guard let groups = list(text[...]), groups.count == 8 else { return nil }
            return groups
        }
        let before = text[..<gap]
        let after = text[(gap + 2)...]
        // An IPv4 tail is the end of the address.
        guard !before.contains(UInt8(ascii: ".")),
            let head = before.isEmpty ? [] : list(before),
            let tail = after.isEmpty ? [] : list(after), head.count + tail.count <= 7
        else { return nil }
        return head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail
    }

    /// Groups between single colons; the last may be two groups in dotted form.
    private static func list(_ text: ArraySlice<UInt8>) -> [UInt16]? {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count <= 8 else { return nil }
        var groups: [UInt16] = []
        for (index, part) in parts.enumerated() {
            if index == parts.count - 1, part.contains(UInt8(ascii: ".")) {
                guard let value = dotted(part) else { return nil }
                groups.append(UInt16(value >> 16))
                groups.append(UInt16(truncatingIfNeeded: value))
            } else {
                guard let group = group(part) else { return nil }
                groups.append(group)
            }
        }
        return groups.count <= 8 ? groups : nil
    }

    /// One to four hexadecimal digits.
    private static func group(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard (1...4).contains(digits.count) else { return nil }
        var value: UInt16 = 0
        for digit in digits {
            let number: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): number = digit - UInt8(ascii: "A") + 10
            default: return nil
            }
            value = value << 4 | UInt16(number)
        }
        return value
    }
}
