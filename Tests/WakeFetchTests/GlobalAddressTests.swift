import TestSupport
import Testing

@testable import WakeFetch

@Suite("Which addresses are of the public Internet")
struct GlobalAddressTests {
    /// Every range that is not, in the order of the numbers, without gaps between neighbours that
    /// are both special: the address before the first and after the last is public unless the
    /// neighbour says otherwise.
    private static let special = [
        // IANA IPv4 Special-Purpose Address Registry.
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        // IANA IPv6 Special-Purpose Address Registry, and what is unassigned around it.
        "::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64",
        "::/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "5f00::/16",
        "8000::/1", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    ]

    @Test("no address of a special range is, from the first to the last", arguments: special)
    func ranges(_ text: String) throws {
        let network = try #require(IPNetwork(text))
        let (first, last) = (network.first, network.last)
        #expect(!first.isGlobal)
        #expect(!last.isGlobal)
        #expect(!IPAddress(first.family, first.value + (last.value - first.value) / 2).isGlobal)
        var random = SplitMix64(seed: 6)
        for _ in 0..<200 {
            let value = UInt128.random(in: first.value...last.value, using: &random)
            #expect(!IPAddress(first.family, value).isGlobal)
        }
    }

    @Test(
        "the addresses next to a range are",
        arguments: [
            "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
            "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
            "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.1.255", "192.0.3.0",
            "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
            "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0",
            "223.255.255.255",
            "2000::", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::",
            "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::",
            "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::",
            "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::",
            "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ])
    func neighbours(_ text: String) throws {
        #expect(try #require(IPAddress(text)).isGlobal)
    }

    @Test(
        "well-known public addresses are",
        arguments: [
            "8.8.8.8", "1.1.1.1", "17.188.143.34", "142.250.74.42", "2a00:1450:4001:80b::200a",
            "2606:4700:4700::1111", "2620:149:af0::10", "2600:1901:0:92a9::",
        ])
    func publicOnes(_ text: String) throws {
        #expect(try #require(IPAddress(text)).isGlobal)
    }

    @Test(
        "an IPv4 address in IPv6 clothes is not, whatever it is",
        arguments: [
            "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:8.8.8.8",
            "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::10.0.0.1",
            "2002:7f00:1::", "2002:808:808::1", "2001:0:7f00:1::", "fe80::5efe:127.0.0.1",
        ])
    func embedded(_ text: String) throws {
        #expect(try !#require(IPAddress(text)).isGlobal)
    }

    @Test("the ranges end where they end: every public address of the edges is found by a search")
    func edges() throws {
        // Walks from the last address of each IPv4 range; a table that is too wide or too narrow
        // by one bit shows here.
        for text in Self.special where !text.contains(":") {
            let network = try #require(IPNetwork(text))
            if network.last.value < UInt128(UInt32.max) {
                let after = IPAddress(.v4, network.last.value + 1)
                let isSpecial = Self.special.contains { IPNetwork($0)?.contains(after) ?? false }
                #expect(after.isGlobal == !isSpecial, "after \(text)")
            }
            if network.first.value > 0 {
                let before = IPAddress(.v4, network.first.value - 1)
                let isSpecial = Self.special.contains { IPNetwork($0)?.contains(before) ?? false }
                #expect(before.isGlobal == !isSpecial, "before \(text)")
            }
        }
    }

    @Test("for any address, being public is being outside of every special range")
    func property() {
        let networks = Self.special.compactMap { IPNetwork($0) }
        #expect(networks.count == Self.special.count)
        var random = SplitMix64(seed: 7)
        for round in 0..<50_000 {
            let address =
                round % 2 == 0
                ? IPAddress(.v4, UInt128(UInt32.random(in: 0...UInt32.max, using: &random)))
                : IPAddress(
                    .v6, UInt128.random(in: 0...UInt128.max, using: &random) >> UInt128(round % 8))
            #expect(address.isGlobal == !networks.contains { $0.contains(address) })
        }
    }
}
