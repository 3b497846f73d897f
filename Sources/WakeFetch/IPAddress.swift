/// An IPv4 or IPv6 address as a value: no zone, no port, no name. Which addresses a push service
/// has tells who is registered there, hence it never shows in a description.
package struct IPAddress: Sendable, Hashable {
    /// The two kinds; an IPv4-mapped IPv6 address is IPv6.
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

    /// Network byte order; nil unless there are 4 or 16 of them.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        family = bytes.count == 4 ? .v4 : .v6
        value = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// 4 or 16 bytes in network byte order.
    package var bytes: [UInt8] {
        stride(from: family.width - 8, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: value >> UInt128($0))
        }
    }
}

extension IPAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "IPAddress(redacted)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
