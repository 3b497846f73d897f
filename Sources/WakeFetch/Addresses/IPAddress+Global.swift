extension IPAddress {
    /// Whether the address is an ordinary one of the public Internet, to which a connection may be
    /// made for an untrusted party. False for everything that IANA's special-purpose registries
    /// (RFC 6890) list as not globally reachable, for multicast, and for addresses that stand for
    /// another one (mapped, translated and tunnelled IPv4), because the translator is unknown.
    package var isGlobal: Bool {
        switch family {
        case .v4: !Self.specialV4.contains { $0.contains(self) }
        case .v6:
            // RFC 4291 §2.4, IANA "Internet Protocol Version 6 Address Space": all unicast that is
            // assigned lies in 2000::/3. That leaves out ::/96 (compatible), ::ffff:0:0/96
            // (mapped), 64:ff9b::/96 and 64:ff9b:1::/48 (translated, RFC 6052, RFC 8215), 100::/64
            // (discard, RFC 6666), 100:0:0:1::/64 (RFC 9780), 5f00::/16 (RFC 9602), fc00::/7
            // (local), fe80::/10 (link), fec0::/10 (site, RFC 3879) and ff00::/8 (multicast).
            Self.globalV6.contains(self) && !Self.specialV6.contains { $0.contains(self) }
        }
    }

    /// IANA IPv4 Special-Purpose Address Registry, and multicast.
    private static let specialV4: [IPNetwork] = [
        network(0, 0, 0, 0, length: 8),  // RFC 791 §3.2: this network; connects to ourselves
        network(10, 0, 0, 0, length: 8),  // RFC 1918
        network(100, 64, 0, 0, length: 10),  // RFC 6598: shared by carriers
        network(127, 0, 0, 0, length: 8),  // RFC 1122 §3.2.1.3
        network(169, 254, 0, 0, length: 16),  // RFC 3927; cloud metadata services
        network(172, 16, 0, 0, length: 12),  // RFC 1918
        // RFC 6890 §2.1. Its 192.0.0.9 and .10 are reachable, but no web server is there.
        network(192, 0, 0, 0, length: 24),
        network(192, 0, 2, 0, length: 24),  // RFC 5737: documentation
        network(192, 88, 99, 0, length: 24),  // RFC 7526: relays to 6to4
        network(192, 168, 0, 0, length: 16),  // RFC 1918
        network(198, 18, 0, 0, length: 15),  // RFC 2544: benchmarks
        network(198, 51, 100, 0, length: 24),  // RFC 5737: documentation
        network(203, 0, 113, 0, length: 24),  // RFC 5737: documentation
        network(224, 0, 0, 0, length: 4),  // RFC 5771: multicast
        network(240, 0, 0, 0, length: 4),  // RFC 1112 §4, RFC 919 §7: reserved, broadcast
    ]

    private static let globalV6 = network(0x2000, length: 3)

    /// IANA IPv6 Special-Purpose Address Registry, what of it lies in 2000::/3.
    private static let specialV6: [IPNetwork] = [
        // RFC 2928: Teredo, benchmarks, ORCHID and others. A few of its parts are reachable
        // (2001:1::1, 2001:3::/32, 2001:4:112::/48, 2001:20::/28, 2001:30::/28): anycast services
        // and identifiers, never web servers. 2001:200:: and above is ordinary space.
        network(0x2001, length: 23),
        network(0x2001, 0xDB8, length: 32),  // RFC 3849: documentation
        network(0x2002, length: 16),  // RFC 3056: 6to4 stands for an IPv4 address
        network(0x3FFF, length: 20),  // RFC 9637: documentation
    ]

    private static func network(
        _ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8, length: Int
    ) -> IPNetwork {
        let value = [a, b, c, d].reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        return network(IPAddress(.v4, value), length)
    }

    private static func network(_ a: UInt16, _ b: UInt16 = 0, length: Int) -> IPNetwork {
        network(IPAddress(.v6, UInt128(a) << 112 | UInt128(b) << 96), length)
    }

    private static func network(_ first: IPAddress, _ length: Int) -> IPNetwork {
        guard let network = IPNetwork(first, length: length) else {
            preconditionFailure("a network of this table has bits behind its length")
        }
        return network
    }
}
