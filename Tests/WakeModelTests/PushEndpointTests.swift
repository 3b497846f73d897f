import Testing
import WakeModel

@Suite("Which endpoints are taken")
struct PushEndpointTests {
    private func host(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard let endpoint = PushEndpoint(bytes.span) else { return nil }
        return String(decoding: bytes[endpoint.host], as: UTF8.self)
    }

    @Test(
        "those that push services give out",
        arguments: [
            ("https://fcm.googleapis.com/fcm/send/dXy:APA91b-_x", "fcm.googleapis.com"),
            (
                "https://updates.push.services.mozilla.com/wpush/v2/gAAA=",
                "updates.push.services.mozilla.com"
            ),
            ("https://web.push.apple.com/QGuQyavXutnMH", "web.push.apple.com"),
            ("https://db5p.notify.windows.com/w/?token=BQYAAAB%2bx%3d", "db5p.notify.windows.com"),
            ("https://ntfy.sh/upAbC?up=1", "ntfy.sh"),
            ("https://cloud.example.org:443/index.php/apps/uppush/push/1-2-3", "cloud.example.org"),
            ("https://push.example.org//a//b/", "push.example.org"),
            ("https://push.example.org/a.b/..c/...?x=../..&y=/./", "push.example.org"),
            ("https://Push.Example.ORG/x", "Push.Example.ORG"),
            // Names beyond ASCII, as name servers know them.
            ("https://xn--mnchen-3ya.example.de/x", "xn--mnchen-3ya.example.de"),
            ("https://push.xn--p1ai/x", "push.xn--p1ai"),
            ("https://3com.com/x", "3com.com"), ("https://a.b.test/x", "a.b.test"),
            ("https://1.2.3.4.example.org/x", "1.2.3.4.example.org"),
            ("https://localhost.example.org/x", "localhost.example.org"),
            ("https://a.b/user@host:1/x", "a.b"),
        ])
    func taken(_ text: String, _ name: String) {
        #expect(host(text) == name)
    }

    @Test(
        "no address in any writing",
        arguments: [
            "127.0.0.1", "127.1", "127.0.1", "0", "0.0.0.0", "2130706433", "0x7f000001", "0X7F.1",
            "0x7f.0.0.1", "0177.0.0.1", "017700000001", "1.2.3.4", "8.8.8.8", "10.0.0.1",
            "169.254.169.254", "192.168.1.1", "172.16.0.1", "100.64.0.1", "a.1", "a.0x1", "a.0x",
            "a.01", "a.1x", "a.b.0", "push.example.2130706433", "127.0.0.1.", "1.2.3.4.5",
            "256.1.1.1",
            "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[fe80::1]",
            "[fe80::1%25lo]", "[fe80::1%eth0]", "[fc00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
            "[2a00:1450::1]", "[v1.x]", "::1", "[::1", "::1]", "[]", "1.2.3.4:443", "[::1]:443",
            // Digits that are none in ASCII, and dots that are none.
            "１２７.0.0.1", "①②⑦.0.0.1", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1",
        ])
    func numeric(_ authority: String) {
        #expect(host("https://\(authority)/x") == nil)
    }

    @Test(
        "no name that is not of the public network",
        arguments: [
            "localhost", "LOCALHOST", "a.localhost", "localhost.localdomain", "push", "intranet",
            "printer.local", "a.LOCAL", "metadata.google.internal", "a.internal", "a.intranet",
            "a.private", "a.corp", "a.home", "a.home.arpa", "router.lan", "1.0.0.127.in-addr.arpa",
            "ipv4only.arpa", "a.onion", "a.b.Onion", "a.alt", "a.invalid",
            "kubernetes.default.svc.cluster.local",
        ])
    func inner(_ authority: String) {
        #expect(host("https://\(authority)/x") == nil)
    }

    @Test(
        "no user, no other port, no other writing of the port",
        arguments: [
            "user@push.example.org", "user:pass@push.example.org", "@push.example.org",
            "push.example.org@", "push.example.org:443@10.0.0.1", "10.0.0.1:443@push.example.org",
            "push.example.org%40a.b", "push.example.org:", "push.example.org:80",
            "push.example.org:8443", "push.example.org:0443", "push.example.org:00443",
            "push.example.org:443:443", "push.example.org:443:", "push.example.org: 443",
            "push.example.org:443 ", "push.example.org:+443", "push.example.org:4430",
            "push.example.org:44", "push.example.org:443x", "push.example.org:0x1bb",
            "push.example.org:65979", "push.example.org:-443", "push.example.org:４４３",
            ":443", "", ":", "@", "push.example.org::443",
        ])
    func authority(_ authority: String) {
        #expect(host("https://\(authority)/x") == nil)
    }

    @Test(
        "no name that is none, and none that reads in two ways",
        arguments: [
            "münchen.de", "пример.рф", "push.exаmple.org", "push。example。org", "a..b", ".a.b",
            "a.b.",
            "a.b..", ".", "..", "-a.b", "a-.b", "a.-b", "a.b-", "a_b.c", "*.b.c", "a b.c",
            "a%2eb.c",
            "%70ush.example.org", "push.example.org%00.a.b", "push.example.org\\.a.b",
            "push.example.org\\", "a.b\\@c.d", "push.example.org;a.b", "a,b.c", "a!b.c", "(a).b",
            "a.b\u{0}", "a\tb.c", "a.b\r\nHost: c.d", "a.b\n", "\u{200B}a.b", "a\u{AD}b.c",
            "a.b#c.d",
            "a.b?c.d", "a.b\u{2044}c",
        ])
    func names(_ authority: String) {
        #expect(host("https://\(authority)/x") == nil)
    }

    @Test("labels and names as long as they may be, and no longer")
    func lengths() {
        let label = String(repeating: "a", count: 63)
        #expect(host("https://\(label).b/x") != nil)
        #expect(host("https://\(label)a.b/x") == nil)
        let longest = "\(label).\(label).\(label).\(String(repeating: "b", count: 61))"
        #expect(longest.count == 253)
        #expect(host("https://\(longest)/x") != nil)
        #expect(host("https://\(longest)b/x") == nil)
        let path = String(repeating: "p", count: 588 - "https://a.b/".count)
        #expect(host("https://a.b/\(path)") == "a.b")
        #expect(host("https://a.b/\(path)p") == nil)
        #expect(host("https://a.b/") == "a.b")
    }

    @Test(
        "no other scheme, and no other writing of this one",
        arguments: [
            "http://a.b/x", "HTTPS://a.b/x", "Https://a.b/x", "https:/a.b/x", "https:a.b/x",
            "https:///a.b/x", "https:////a.b/x", "https:\\\\a.b/x", "//a.b/x", "a.b/x", "/x", "",
            "https://", "https:///", "wss://a.b/x", "ftp://a.b/x", "file:///etc/passwd",
            "gopher://a.b/x", " https://a.b/x", "https ://a.b/x", "https://a.b", "https://a.b?x=/",
            "javascript:https://a.b/x", "https://https://a.b/x", "\u{FEFF}https://a.b/x",
        ])
    func schemes(_ text: String) {
        #expect(host(text) == nil)
    }

    @Test(
        "no target that is cut, resolved or read differently on its way",
        arguments: [
            "/x#y", "/#", "/x y", "/x\t", "/x\r\nHost: c.d", "/\u{0}", "/\\x", "/..", "/.",
            "/a/../b",
            "/a/./b", "/a/..", "/a/.?x", "/..?x", "/%2e", "/%2E%2e/x", "/.%2e/x", "/a/%2e%2E", "/%",
            "/%2",
            "/%zz", "/a%", "/a?b=%4", "/ü", "/\u{7F}", "/a|b", "/a^b", "/a`b", "/{a}", "/<a>",
            "/\"a\"",
            "/[a]", "/a]", "/?[", "/x\u{A0}",
        ])
    func targets(_ target: String) {
        #expect(host("https://push.example.org\(target)") == nil)
    }

    @Test("whatever byte is changed, the host is all that stands before the path or port")
    func damage() {
        let text = Array("https://push.example.org:443/x/y?z=1".utf8)
        let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.".utf8
        var taken = 0
        for place in text.indices {
            for byte in UInt8.min...UInt8.max {
                var damaged = text
                damaged[place] = byte
                guard let endpoint = PushEndpoint(damaged.span) else { continue }
                taken += 1
                #expect(damaged.starts(with: "https://".utf8))
                let rest = damaged.dropFirst(8)
                let name = rest.prefix { letters.contains($0) }
                #expect(damaged[endpoint.host] == name)
                let after = rest.dropFirst(name.count)
                #expect(after.starts(with: "/".utf8) || after.starts(with: ":443/".utf8))
            }
        }
        #expect(taken > 1000)
    }
}
