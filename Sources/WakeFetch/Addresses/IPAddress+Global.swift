extension IPAddress {
    /// Whether a connection may be made for an untrusted party: an ordinary address of the public
    /// Internet. False for what IANA's special-purpose registries (RFC 6890) list as not globally
    /// reachable, multicast, and mapped, translated and tunnelled IPv4: see ``AddressTranslation``.
    package var isGlobal: Bool {
        switch family {
        case .v4: !Self.specialV4.contains { $0.contains(self) }
        case .v6:
            // RFC 4291 §2.4, IANA "Internet Protocol Version 6 Address Space": all unicast that is
            // assigned lies in 2000::/3. That leaves out ::/96 (compatible), ::ffff:0:0/96
            // (mapped), 64:ff9b::/96 and 64:ff9b:1::/48 (translated, RFC 6052, RFC 8215), 100::/64
            // (discard, RFC 6666), 100:0:0:1::/64 (RFC 9780), 5f00::/16 (RFC 9602), fc00::/7
            // (local), fe80::/10 (link), fec0::/10 (site, RFC 3879) and ff00::/8 (multicast).
            value >> 125 == 1 && !Self.specialV6.contains { $0.contains(self) }
        }
    }

    /// IANA IPv4 Special-Purpose Address Registry, and multicast.
    private static let specialV4 = networks(
        "0.0.0.0/8",  // RFC 791 §3.2: this network; connects to ourselves
        "10.0.0.0/8",  // RFC 1918
        "100.64.0.0/10",  // RFC 6598: shared by carriers
        "127.0.0.0/8",  // RFC 1122 §3.2.1.3
        "169.254.0.0/16",  // RFC 3927; cloud metadata services
        "172.16.0.0/12",  // RFC 1918
        // RFC 6890 §2.1. Its 192.0.0.9 and .10 are reachable, but no web server is there.
        "192.0.0.0/24",
        "192.0.2.0/24",  // RFC 5737: documentation
        "192.88.99.0/24",  // RFC 7526: relays to 6to4
        "192.168.0.0/16",  // RFC 1918
        "198.18.0.0/15",  // RFC 2544: benchmarks
        "198.51.100.0/24",  // RFC 5737: documentation
        "203.0.113.0/24",  // RFC 5737: documentation
        "224.0.0.0/4",  // RFC 5771: multicast
        "240.0.0.0/4")  // RFC 1112 §4, RFC 919 §7: reserved, broadcast

    /// The part of IANA's IPv6 Special-Purpose Address Registry that lies in 2000::/3.
    private static let specialV6 = networks(
        // RFC 2928: Teredo, benchmarks, ORCHID and others. A few of its parts are reachable
        // (2001:1::1, 2001:3::/32, 2001:4:112::/48, 2001:20::/28, 2001:30::/28): anycast services
        // and identifiers, never web servers. 2001:200:: and above is ordinary space.
        "2001::/23",
        "2001:db8::/32",  // RFC 3849: documentation
        "2002::/16",  // RFC 3056: 6to4 stands for an IPv4 address
        "3fff::/20")  // RFC 9637: documentation

    private static func networks(_ texts: String...) -> [IPNetwork] {
        texts.map { text in
            guard let network = IPNetwork(text) else {
                preconditionFailure("not a network: \(text)")
            }
            return network
        }
    }
}
