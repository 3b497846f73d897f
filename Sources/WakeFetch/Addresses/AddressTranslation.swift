/// The IPv4 addresses that IPv6 addresses stand for: those of translators (NAT64, RFC 6052), which
/// name servers make up (DNS64, RFC 6147), and mapped, compatible and tunnelled ones.
package struct AddressTranslation: Sendable, Equatable {
    /// The prefixes of translators that are not the well-known ones, each as long as theirs.
    private let prefixes: [IPNetwork]

    /// Where the 32 bits of the IPv4 address begin, by the length of the prefix, skipping bits 64
    /// to 71, which are zero (RFC 6052 §2.2).
    private static let lengths = [32, 40, 48, 56, 64, 96]

    package static let wellKnown = AddressTranslation([])

    /// - Parameter prefixes: of IPv6 and a length that RFC 6052 has; else nil.
    package init?(prefixes: [IPNetwork]) {
        guard prefixes.allSatisfy({ $0.first.family == .v6 && Self.lengths.contains($0.length) })
        else { return nil }
        self.init(prefixes)
    }

    private init(_ prefixes: [IPNetwork]) { self.prefixes = prefixes }

    /// What an address stands for; nil for an address that stands for itself.
    /// - Returns: the IPv4 addresses that a translator may make of it, and whether one is known to
    ///   be there. More than one where the length of its prefix is not known.
    func inside(_ address: IPAddress) -> (addresses: [IPAddress], isTranslated: Bool)? {
        guard address.family == .v6 else { return nil }
        let own = prefixes.filter { $0.contains(address) }
        if !own.isEmpty {
            return (own.map { Self.address(in: address, behind: $0.length) }, true)
        }
        let (value, low) = (address.value, IPAddress(.v4, address.value & 0xFFFF_FFFF))
        // RFC 6052 §2.1: always a prefix of 96 bits.
        if value >> 32 == 0x0064_ff9b << 64 { return ([low], true) }
        // RFC 8215: for a network's own use, behind a prefix of any length from 48 on; what follows
        // the IPv4 address may be ignored. A wrong length often makes what leads nowhere
        // (0.0.0.0/8, 224.0.0.0/3).
        if value >> 80 == 0x0064_ff9b_0001 {
            let all = [48, 56, 64, 96].map { Self.address(in: address, behind: $0) }
            return (all.filter { (1..<224).contains($0.value >> 24) }, true)
        }
        // 6to4 (RFC 3056), Teredo (RFC 4380: the client's, inverted, and the server's), mapped and
        // compatible (RFC 4291 §2.5.5; not :: and ::1), SIIT (RFC 2765), ISATAP (RFC 5214).
        if value >> 112 == 0x2002 { return ([Self.v4(value >> 80)], false) }
        if value >> 96 == 0x2001_0000 { return ([Self.v4(~value), Self.v4(value >> 64)], false) }
        if [0, 0xFFFF, 0xFFFF_0000].contains(value >> 32), value > 1 { return ([low], false) }
        if value >> 32 & 0xFCFF_FFFF == 0x5EFE { return ([low], false) }
        return nil
    }

    private static func address(in address: IPAddress, behind length: Int) -> IPAddress {
        // Without bits 64 to 71, of the 120 left those behind the prefix.
        let upper = (address.value >> 64) << 56
        let joined = upper | address.value & 0x00FF_FFFF_FFFF_FFFF
        return v4(length == 96 ? address.value : joined >> UInt128(120 - length - 32))
    }

    private static func v4(_ value: UInt128) -> IPAddress { IPAddress(.v4, value & 0xFFFF_FFFF) }

    /// Whether a connection may be made for an untrusted party: an address of the public Internet
    /// or of `networks`, also where it stands for another one. Whatever leads to an IPv4 address is
    /// judged by that, whichever networks are allowed.
    package func admits(_ address: IPAddress, or networks: [IPNetwork]) -> Bool {
        func isAllowed(_ address: IPAddress) -> Bool {
            address.isGlobal || networks.contains { $0.contains(address) }
        }
        guard let inside = inside(address) else { return isAllowed(address) }
        guard !inside.addresses.isEmpty, inside.addresses.allSatisfy(isAllowed) else {
            return false
        }
        return inside.isTranslated || isAllowed(address)
    }
}
