import WakeSystem

/// All addresses of one family that begin with the same bits, such as `10.0.0.0/8`.
package struct IPNetwork: Sendable, Hashable, Redacted {
    /// The lowest address.
    package let first: IPAddress
    /// Bits that all addresses share: 0 to 32 or 128.
    package let length: Int

    /// nil if the length is not one of the family's, or a bit behind it is set, as in `10.0.0.1/8`.
    package init?(_ first: IPAddress, length: Int) {
        guard (0...first.family.width).contains(length),
            first.value & ~Self.mask(length, of: first.family) == 0
        else { return nil }
        self.first = first
        self.length = length
    }

    /// An address, a slash and a decimal without leading zeros; nil for all else.
    package init?(_ text: [UInt8]) {
        let parts = text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, let first = IPAddress(Array(parts[0])),
            let length = parts[1].decimal(upTo: 128)
        else { return nil }
        self.init(first, length: length)
    }

    package init?(_ text: String) { self.init(Array(text.utf8)) }

    /// The highest address.
    package var last: IPAddress {
        let all = first.family == .v4 ? UInt128(UInt32.max) : .max
        return IPAddress(first.family, first.value | all & ~Self.mask(length, of: first.family))
    }

    /// Whether `address` belongs to the network. An IPv4 network has no IPv6 addresses.
    package func contains(_ address: IPAddress) -> Bool {
        address.family == first.family
            && address.value & Self.mask(length, of: first.family) == first.value
    }

    private static func mask(_ length: Int, of family: IPAddress.Family) -> UInt128 {
        let all = family == .v4 ? UInt128(UInt32.max) : .max
        // A shift by the whole width gives 0, as it should.
        return all & ~(all >> UInt128(length))
    }
}
