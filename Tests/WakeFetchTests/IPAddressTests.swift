import Glibc
import TestSupport
import Testing
import WakeSystem

@testable import WakeFetch

@Suite("Addresses are read in one way")
struct IPAddressTests {
    @Test(
        "what is an address",
        arguments: [
            ("0.0.0.0", [0, 0, 0, 0]), ("127.0.0.1", [127, 0, 0, 1]),
            ("255.255.255.255", [255, 255, 255, 255]), ("8.8.4.4", [8, 8, 4, 4]),
            ("::", [UInt8](repeating: 0, count: 16)),
            ("::1", [UInt8](repeating: 0, count: 15) + [1]),
            ("1::", [0, 1] + [UInt8](repeating: 0, count: 14)),
            (
                "2001:db8::8:800:200C:417A",
                [32, 1, 13, 184, 0, 0, 0, 0, 0, 8, 8, 0, 32, 12, 65, 122]
            ),
            ("::ffff:129.144.52.38", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 129, 144, 52, 38]),
            ("64:ff9b::1.2.3.4", [0, 100, 255, 155, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]),
            ("1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]),
            ("1:2:3:4:5:6:7::", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0]),
            ("::2:3:4:5:6:7:8", [0, 0, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]),
        ] as [(String, [UInt8])])
    func valid(_ text: String, _ bytes: [UInt8]) throws {
        let address = try #require(IPAddress(text))
        #expect(address.bytes == bytes)
        #expect(address.family == (bytes.count == 4 ? .v4 : .v6))
        #expect(IPAddress(bytes: bytes) == address)
        #expect(IPAddress(address.text) == address)
    }

    @Test(
        "what getaddrinfo or inet_aton might take for an address is none here",
        arguments: [
            "", "1", "0", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1",
            "0177.0.0.1", "127.0.0.01", "127.0.0.1.", ".127.0.0.1", "127..0.1", "256.0.0.1",
            "1.2.3.4.5", "1.2.3.4 ", " 1.2.3.4", "1.2.3.-4", "+1.2.3.4", "1.2.3.4/32", "１.2.3.4",
            ":", ":::", "1:", ":1", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
            "1:2:3:4::5:6:7:8", "::1:2:3:4:5:6:7:8", "12345::", "::g", "[::1]", "::1%1",
            "fe80::1%lo",
            "::1.2.3", "::1.2.3.4.5", "::1.2.3.04", "1.2.3.4::", "::1.2.3.4:5",
            "1:2:3:4:5:6:7:1.2.3.4",
            "::ffff:0x7f.0.0.1", "::0x1", "::-1", "::1\0", "localhost", "::1 ",
        ])
    func invalid(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    /// What the C library reads strictly, which has no own bounds on the length.
    private func reference(_ text: String) -> [UInt8]? {
        var (v4, v6) = (in_addr(), in6_addr())
        if unsafe inet_pton(AF_INET, text, &v4) == 1 {
            return unsafe withUnsafeBytes(of: v4) { unsafe Array($0) }
        }
        guard unsafe inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        return unsafe withUnsafeBytes(of: v6) { unsafe Array($0) }
    }

    @Test("inet_pton agrees on every address and on every damaged one")
    func agreement() {
        var random = SplitMix64(seed: 3)
        let alphabet = Array("0123456789abcdefF:.::%x /g".utf8)
        var accepted = 0
        for round in 0..<60_000 {
            var bytes = [UInt8](
                (0..<(round % 2 == 0 ? 4 : 16)).map { _ in UInt8.random(in: 0...255, using: &random)
                })
            if round % 3 == 0 {
                // Runs of zeros, which have short forms.
                for index in bytes.indices where index % 4 != round % 4 { bytes[index] = 0 }
            }
            guard let address = IPAddress(bytes: bytes) else { preconditionFailure() }
            var text = round % 5 < 3 ? short(bytes) : address.text
            for _ in 0..<(round % 4) {
                guard let place = text.indices.randomElement(using: &random) else { break }
                let letter = alphabet.randomElement(using: &random) ?? 0x3A
                switch round % 7 {
                case 0...2: text[place] = letter
                case 3...4: text.remove(at: place)
                default: text.insert(letter, at: place)
                }
            }
            let string = String(decoding: text, as: UTF8.self)
            let ours = IPAddress(text)?.bytes
            accepted += ours == nil ? 0 : 1
            #expect(ours == reference(string), "\(string)")
            if round % 4 == 0 { #expect(ours == bytes) }
        }
        #expect(accepted > 15_000)
    }

    private func short(_ bytes: [UInt8]) -> [UInt8] {
        var buffer = [CChar](repeating: 0, count: 64)
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        let made = unsafe bytes.withUnsafeBytes {
            unsafe inet_ntop(family, $0.baseAddress, &buffer, 64)
        }
        precondition(unsafe made != nil)
        return buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    }

    @Test("other numbers of bytes than 4 and 16 are no address")
    func counts() {
        for count in 0...40 where count != 4 && count != 16 {
            #expect(IPAddress(bytes: [UInt8](repeating: 1, count: count)) == nil)
        }
    }

    @Test("a network is an address, a slash and a length, with nothing behind its length")
    func networks() throws {
        let ten = try #require(IPNetwork("10.0.0.0/8"))
        #expect(ten.first == IPAddress("10.0.0.0"))
        #expect(ten.last == IPAddress("10.255.255.255"))
        #expect(ten.contains(try #require(IPAddress("10.1.2.3"))))
        #expect(!ten.contains(try #require(IPAddress("11.0.0.0"))))
        #expect(!ten.contains(try #require(IPAddress("::ffff:10.1.2.3"))))
        let all = try #require(IPNetwork("0.0.0.0/0"))
        #expect(all.last == IPAddress("255.255.255.255"))
        #expect(!all.contains(try #require(IPAddress("::1"))))
        #expect(try #require(IPNetwork("::/0")).contains(try #require(IPAddress("ff::1"))))
        let one = try #require(IPNetwork("fd00::1/128"))
        #expect(one.first == one.last)
        #expect(
            try #require(IPNetwork("fd00::/9")).last.text
                == Array("fd7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff".utf8))
        for text in [
            "", "/", "10.0.0.0", "10.0.0.0/", "/8", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1",
            "10.0.0.1/8", "10.0.0.0/8/8", "10/8", "::/129", "::1/127", "fd00::/7 ", "10.0.0.0/1000",
            "10.0.0.0/255.0.0.0", "x/8",
        ] {
            #expect(IPNetwork(text) == nil, "\(text)")
        }
    }

    @Test("neither addresses nor what holds them show in a description")
    func redaction() throws {
        let address = try #require(IPAddress("198.18.77.66"))
        let network = try #require(IPNetwork("198.18.0.0/15"))
        let pin = PinnedAddresses(addresses: [address], port: 443)
        var request = FetchRequest(
            try FetchURL("https://push.example.com/secret"), limit: 0, purpose: .gateway)
        request.pin = pin
        var shown = ""
        for value in [address, network, pin, request] as [Any] {
            shown += "\(value) \(String(reflecting: value))"
            dump(value, to: &shown)
        }
        for secret in ["77", "198", "3326", "secret", "push.example"] {
            #expect(!shown.contains(secret))
        }
    }
}
