import WakeSystem

/// An IPv4 or IPv6 address. Redacted: those of a push service reveal who is registered there.
package struct IPAddress: Sendable, Hashable, Redacted {
    package enum Family: UInt8, Sendable, Hashable {
        case v4, v6

        /// Bits of an address.
        package var width: Int { self == .v4 ? 32 : 128 }
    }

    package let family: Family
    /// The address as a number; IPv4 in the low 32 bits.
    let value: UInt128

    init(_ family: Family, _ value: UInt128) {
        precondition(family == .v6 || value <= UInt32.max, "an IPv4 address has 32 bits")
        self.family = family
        self.value = value
    }

    /// - Parameter bytes: 4 or 16 bytes in network order; nil for any other count.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        family = bytes.count == 4 ? .v4 : .v6
        value = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    package var bytes: [UInt8] {
        stride(from: family.width - 8, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: value >> UInt128($0))
        }
    }
}

/// Addresses as text in one strict form, without zones and what only inet_aton(3) reads (`127.1`).
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

    package init?(_ text: String) { self.init(Array(text.utf8)) }

    /// The text that `init` reads; IPv6 as eight groups without `::`.
    package var text: [UInt8] {
        let text =
            switch family {
            case .v4: bytes.map { String($0) }.joined(separator: ".")
            case .v6:
                stride(from: 112, through: 0, by: -16).map {
                    String(UInt16(truncatingIfNeeded: value >> UInt128($0)), radix: 16)
                }.joined(separator: ":")
            }
        return Array(text.utf8)
    }

    private static func dotted(_ text: ArraySlice<UInt8>) -> UInt32? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        // No leading zero: inet_aton(3) would read an octal number.
        let octets = parts.compactMap { $0.decimal(upTo: 255) }
        guard parts.count == 4, octets.count == 4 else { return nil }
        return octets.reduce(0) { $0 << 8 | UInt32($1) }
    }

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
        guard !before.contains(UInt8(ascii: ".")), let head = before.isEmpty ? [] : list(before),
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
                guard (1...4).contains(part.count), part.allSatisfy(\.isHexDigit),
                    let group = UInt16(String(decoding: part, as: UTF8.self), radix: 16)
                else { return nil }
                groups.append(group)
            }
        }
        return groups.count <= 8 ? groups : nil
    }
}

extension ArraySlice where Element == UInt8 {
    /// The number of one to five decimal digits without leading zero, up to `limit`; else nil.
    func decimal(upTo limit: Int) -> Int? {
        guard (1...5).contains(count), allSatisfy(\.isDigit),
            count == 1 || first != UInt8(ascii: "0")
        else { return nil }
        let value = reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return value <= limit ? value : nil
    }
}
