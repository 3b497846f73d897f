import TestSupport
import Testing
import WakeSystem

@testable import WakeFetch

@Suite("Addresses")
struct FetchURLTests {
    @Test(
        "what may be fetched is written in one way",
        arguments: [
            ("https://example.com", "https://example.com/"),
            ("HTTPS://Example.COM:443/Feed", "https://example.com/Feed"),
            ("https://example.com:8443/a?b=c/d?e", "https://example.com:8443/a?b=c/d?e"),
            ("https://example.com?q", "https://example.com/?q"),
            ("https://a-1.b2.example/%C3%A4;p=1,2", "https://a-1.b2.example/%C3%A4;p=1,2"),
            ("https://192.0.2.7/x", "https://192.0.2.7/x"),
            ("https://[2001:DB8::1]:99/", "https://[2001:db8::1]:99/"),
            ("https://[::ffff:192.0.2.1]/", "https://[::ffff:192.0.2.1]/"),
            ("https://intranet/feed/", "https://intranet/feed/"),
            ("https://example.com/a//b/...", "https://example.com/a//b/..."),
            ("http://localhost:8080/x", "http://localhost:8080/x"),
            ("http://LOCALHOST:80", "http://localhost/"),
            ("http://127.255.0.9/", "http://127.255.0.9/"),
            ("http://[::1]:1/", "http://[::1]:1/"),
            ("http://abcdef.onion/feed", "http://abcdef.onion/feed"),
            ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ])
    func accepted(text: String, written: String) throws {
        let url = try FetchURL(text)
        #expect(String(decoding: url.bytes, as: UTF8.self) == written)
        #expect(try FetchURL(url.bytes) == url)
    }

    @Test(
        "http is for loopback hosts and onion services alone",
        arguments: [
            "http://example.com/", "http://192.0.2.1/", "http://128.0.0.1/", "http://126.0.0.1/",
            "http://localhost.example/", "http://localhost.", "http://127.0.0.1.example/",
            "http://[::2]/", "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/", "http://onion/x.",
            "http://onion.example/", "http://localhost@example.com/",
            "http://example.com#localhost", "http://example.com\\@localhost/",
        ])
    func httpElsewhere(text: String) {
        #expect(throws: FetchError.invalidURL) { try FetchURL(text) }
    }

    @Test("http to a cloud's metadata server is for those alone who ask for one")
    func metadata() {
        for text in [
            "http://metadata.google.internal/a", "http://169.254.169.254/a?b=c",
            "http://[fd20:ce::254]/", "http://127.0.0.1:80/", "https://example.org/",
        ] {
            #expect(FetchURL(metadata: text) != nil, "\(text)")
        }
        for text in [
            "http://metadata.google.internal.example/", "http://169.254.169.253/",
            "http://example.org/", "http://a@169.254.169.254/", "http://[fe80::1]/", "",
        ] {
            #expect(FetchURL(metadata: text) == nil, "\(text)")
        }
        #expect(throws: FetchError.invalidURL) { try FetchURL("http://169.254.169.254/") }
    }

    @Test(
        "whatever two programs might read differently is refused",
        arguments: [
            "", "https://", "https:///x", "https:/example.com", "https:example.com",
            "//example.com", "example.com", "ftp://example.com/", "file:///etc/passwd",
            "gopher://example.com/", "https+unix://x/", " https://example.com/",
            "https://example.com/ ", "https://example.com/a b", "https://example.com/\n",
            "https://exa\tmple.com/", "https://example.com/\u{0}", "https://exämple.com/",
            "https://example.com/ä", "https://ⓔxample.com/", "https://user@example.com/",
            "https://user:pass@example.com/", "https://@example.com/", "https://example.com#x",
            "https://example.com/#", "https://example.com/a#b", "https://example.com\\x",
            "https://example.com/\\x", "https://example.com:/", "https://example.com:0/",
            "https://example.com:65536/", "https://example.com:080/", "https://example.com:+80/",
            "https://example.com:8a/", "https://example.com:80:80/", "https://.example.com/",
            "https://example..com/", "https://example.com./", "https://-a.example/",
            "https://a-.example/", "https://a_b.example/", "https://a%2eb.example/",
            "https://exam*ple.com/", "https://127.1/", "https://2130706433/",
            "https://0x7f000001/", "https://0x7f.0.0.1/", "https://0177.0.0.1/",
            "https://1.2.3.256/", "https://1.2.3.4.5/", "https://1.2.3/", "https://01.2.3.4/",
            "https://example.1/", "https://[::1", "https://::1/", "https://[::1]x/",
            "https://[::1%25lo]/", "https://[fe80::1%lo]/", "https://[v1.a]/", "https://[]/",
            "https://[1.2.3.4]/", "https://[::g]/", "https://[1::2::3]/", "https://a[::1]/",
            "https://example.com/%", "https://example.com/%4", "https://example.com/%4g",
            "https://example.com/a/../b", "https://example.com/..", "https://example.com/./a",
            "https://example.com/a/.", "https://example.com/%2e%2E/b",
            "https://example.com/.%2e/b", "https://example.com/%2e", "https://example.com/<",
            "https://example.com/\"", "https://example.com/{x}", "https://example.com/a|b",
            "https://example.com/`", "https://example.com/^",
        ])
    func refused(text: String) {
        #expect(throws: FetchError.invalidURL) { try FetchURL(text) }
    }

    @Test("names and addresses have the lengths of the DNS, and an end")
    func lengths() throws {
        let label = String(repeating: "a", count: 63)
        let name = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        #expect(name.utf8.count == 253)
        _ = try FetchURL("https://\(name)/")
        #expect(throws: FetchError.invalidURL) { try FetchURL("https://a\(label).example/") }
        #expect(throws: FetchError.invalidURL) { try FetchURL("https://\(name)b/") }
        let path = String(repeating: "p", count: FetchURL.maximumLength - 20)
        _ = try FetchURL("https://example.com/\(path)")
        #expect(throws: FetchError.invalidURL) { try FetchURL("https://example.com/\(path)p") }
    }

    @Test("bytes that are not UTF-8 are refused, not repaired")
    func notText() {
        for byte in UInt8(0x80)...0xFF {
            let bytes = Array("https://example.com/".utf8) + [byte]
            #expect(throws: FetchError.invalidURL) { try FetchURL(bytes) }
        }
    }

    @Test("an address below another one keeps to it")
    func appending() throws {
        for base in ["https://example.com/feed", "https://example.com/feed/"] {
            let url = try FetchURL(base).appending("b/000001")
            #expect(try url == FetchURL("https://example.com/feed/b/000001"))
        }
        let base = try FetchURL("https://example.com/feed")
        for path in ["/b", "../b", "b/../../c", "%2e%2e/c", "b#c", "b c", "//evil.example/"] {
            #expect(throws: FetchError.invalidURL) { try base.appending(path) }
        }
        #expect(throws: FetchError.invalidURL) {
            try FetchURL("https://example.com/feed?x").appending("b")
        }
    }

    @Test("an origin is scheme, host and port")
    func origins() throws {
        let url = try FetchURL("https://example.com/a")
        for same in ["https://example.com/b?c", "https://EXAMPLE.com:443/"] {
            #expect(try url.hasSameOrigin(as: FetchURL(same)))
        }
        for other in [
            "https://example.com:444/a", "https://example.org/a", "https://example.comm/a",
            "https://xample.com/a",
        ] {
            #expect(try !url.hasSameOrigin(as: FetchURL(other)))
        }
        #expect(
            try !FetchURL("https://localhost:80/").hasSameOrigin(as: FetchURL("http://localhost/")))
    }

    @Test("any bytes: what is accepted is stable, plain, and of an allowed kind")
    func property() throws {
        var random = SplitMix64(seed: 1)
        let pieces = [
            "https://", "http://", "localhost", "127.0.0.1", "[::1]", "example.com", ":", "443",
            "/", "..", "%2e", "?", "#", "@", "\\", ".", "onion", "0x7f", "a", "\u{0}", " ", "ä",
        ]
        var accepted = 0
        for _ in 0..<50_000 {
            var text: [UInt8] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                text += Array(pieces[Int.random(in: 0..<pieces.count, using: &random)].utf8)
            }
            guard let url = try? FetchURL(text) else { continue }
            accepted += 1
            #expect(try url == FetchURL(url.bytes))
            #expect(url.bytes.allSatisfy { (0x21...0x7E).contains($0) })
            #expect(!url.bytes.contains { [0x23, 0x5C].contains($0) })
            #expect(url.scheme == .https || url.reach != .network)
        }
        #expect(accepted > 100)
    }
}
