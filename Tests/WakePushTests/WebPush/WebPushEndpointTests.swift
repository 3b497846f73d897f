import TestSupport
import Testing
import WakeFetch
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("Web Push endpoints that may be sent to")
struct WebPushEndpointTests {
    private func token(_ text: String) throws -> PushToken {
        try PushToken(service: .webPush, bytes: Array(text.utf8))
    }

    private func rules(_ list: String) throws -> PushHostRules {
        try #require(PushHostRules(list: list))
    }

    @Test(
        "the kind of a host is told by its name",
        arguments: [
            ("web.push.apple.com", .apple), ("API.push.Apple.com", .apple),
            ("updates.push.services.mozilla.com", .mozilla), ("fcm.googleapis.com", .google),
            ("wns2-par02p.notify.windows.com", .microsoft), ("notify.windows.com", .other),
            ("push.apple.com.example.org", .other), ("ntfy.sh", .other),
        ] as [(String, PushHostKind)])
    func kinds(_ host: String, _ kind: PushHostKind) throws {
        let token = try PushToken(service: .webPush, bytes: Array("https://\(host)/x".utf8))
        #expect(PushHostKind(token) == kind && kind.isBrowser == (kind != .other))
        #expect(PushHostKind(try PushToken(service: .fcm, bytes: [0x61])) == nil)
    }

    @Test("Apple's endpoints need a subject, and keys a point of the curve")
    func refusals() throws {
        var policy = EndpointPolicy.known(.known)
        func refusal(_ text: String) throws -> EndpointRefusal? {
            let token = try PushToken(service: .webPush, bytes: Array(text.utf8))
            #expect((policy.host(of: token) == nil) == (policy.refusal(of: token) != nil))
            return policy.refusal(of: token)
        }
        #expect(try refusal("https://web.push.apple.com/a") == nil)
        policy.hasSubject = false
        #expect(try refusal("https://web.push.apple.com/a") == .subjectMissing)
        #expect(try refusal("https://push.example.org/a") == .hostNotAllowed)
        let endpoint = Array("https://ntfy.sh/a".utf8)
        for (point, expected) in [
            (try P256Key.ephemeral().publicPoint(), nil),
            ([4] + [UInt8](repeating: 1, count: 64), .keyMalformed),
        ] as [([UInt8]?, EndpointRefusal?)] {
            let bytes = try #require(point)
            let text = Base64URL.encode(bytes.span)
            let secret = Base64URL.encode([UInt8](repeating: 7, count: 16).span)
            let keys = try SubscriptionKeys(p256dh: text.span, auth: secret.span)
            let token = try PushToken(endpoint: endpoint.span, keys: keys)
            #expect(policy.refusal(of: token) == expected)
        }
    }

    /// What an endpoint is compared by; nil when it is refused.
    private func name(_ text: String) throws -> [UInt8]? {
        let token = try PushToken(service: .webPush, bytes: Array(text.utf8))
        let policy = EndpointPolicy.known(.known)
        guard policy.refusal(of: token) == nil else {
            #expect(policy.refusal(of: token) == .spellingForeign && policy.host(of: token) == nil)
            return nil
        }
        return token.withCanonicalAddress { $0.array }
    }

    /// Endpoints as the services give them out, of made-up bytes.
    private static let given = [
        "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABm-x_Qw1s2d3f4g5h6j7k8l9A",
        "https://fcm.googleapis.com/fcm/send/dXy-01_aBcQ:APA91bE-x_Qw1s2d3f4g5h6j7k8l9zA",
        "https://web.push.apple.com/QGuQyavXutnMH0IaUUJoKOKb5oFxbxpDQ1gZfeA",
        "https://wns2-par02p.notify.windows.com/w/?token=BQYAAAB%2bx%2fQw1s2d3f4g5h6j7k8lAA%3d%3d",
        "https://up.conversations.im/push/v2.local.8r50Ti5V6ZNqb_5Z38olNF0gQiGak2CgBYo3WA",
        "https://ntfy.sh/upAbCdEfGhIjKl?up=1",
    ]

    @Test("hundreds of spellings of an endpoint of a known host are one, or none", arguments: given)
    func spellings(_ text: String) throws {
        let one = try #require(try name(text))
        var random = SplitMix64(seed: 5)
        let start = text.index(text.firstIndex(of: "/")!, offsetBy: 2)
        let slash = text[start...].firstIndex(of: "/")!
        let (host, target) = (String(text[start..<slash]), String(text[slash...]))
        var (folded, spellings) = (0, Set<String>())
        for round in 0..<400 {
            let rest = target.map { character -> String in
                let isPlain =
                    character.isLetter || character.isNumber || "-_.~:".contains(character)
                guard isPlain, random.next() % 3 == 0, let byte = character.asciiValue,
                    !(character == "%" || target.contains("%")), !target.contains("?")
                else { return String(character) }
                let hex = String(byte, radix: 16)
                return "%" + (random.next() % 2 == 0 ? hex : hex.uppercased())
            }.joined()
            let suffixes = [
                "", "?", "?x=\(round)", "/", "//", "&x=1", "?up=1", ";x", "=", "%20", "%00",
            ]
            let suffix = suffixes[round % suffixes.count]
            let name = random.next() % 2 == 0 ? host : host.uppercased()
            let port = random.next() % 2 == 0 ? "" : ":443"
            let spelling = "https://\(name)\(port)\(rest)\(suffix)"
            spellings.insert(spelling)
            guard let other = try self.name(spelling) else { continue }
            folded += 1
            #expect(other == one, "\(spelling)")
        }
        #expect(folded >= 36 && spellings.count > 40)
    }

    @Test("ways to one device that are not spellings alone: paths, servers, unused bits")
    func ways() throws {
        for (one, others) in [
            (
                Self.given[1],
                [
                    "https://fcm.googleapis.com/wp/dXy-01_aBcQ:APA91bE-x_Qw1s2d3f4g5h6j7k8l9zA",
                    "https://jmt17.google.com/wp/dXy-01_aBcQ%3aAPA91bE-x_Qw1s2d3f4g5h6j7k8l9zA",
                    "https://fcm.googleapis.com/wp/dXy-01_aBcR:APA91bE-x_Qw1s2d3f4g5h6j7k8l9zB",
                ]
            ),
            (
                Self.given[3],
                [
                    "https://db5.notify.windows.com/?token=BQYAAAB%2Bx%2FQw1s2d3f4g5h6j7k8lAA",
                    "https://db5.notify.windows.com/w?token=BQYAAAB-x_Qw1s2d3f4g5h6j7k8lAB",
                    "https://db5.notify.windows.com/?token=%42QYAAAB+x/Qw1s2d3f4g5h6j7k8lAA==",
                ]
            ),
            (
                Self.given[5],
                ["https://ntfy.sh/upAbCdEfGhIjKl", "https://NTFY.sh/%75pAbCdEfGhIjKl"]
            ),
        ] as [(String, [String])] {
            for other in others { #expect(try name(other) == name(one), "\(other)") }
        }
        for refused in [
            "https://db5.notify.windows.com/?token=AA&x=1",
            "https://db5.notify.windows.com/?Token=AA",
            "https://db5.notify.windows.com/?token=A%20A", "https://db5.notify.windows.com/?token=",
            "https://db5.notify.windows.com/?token=A%3dA",
            "https://db5.notify.windows.com/?x=1&token=A",
            "https://ntfy.sh/a/b?up=1", "https://ntfy.sh/a?up=1&x=2", "https://ntfy.sh/a%2fb",
            "https://web.push.apple.com/", "https://web.push.apple.com/a/", "https://ntfy.sh/a%0a",
            "https://web.push.apple.com//a", "https://web.push.apple.com/a%2fb",
            "https://fcm.googleapis.com/fcm/send/a%3fb", "https://fcm.googleapis.com/fcm/send/a;b",
        ] { #expect(try name(refused) == nil, "\(refused)") }
        // Different devices stay different.
        let names = try Self.given.compactMap { try name($0) }
        #expect(Set(names).count == Self.given.count)
        let other = "https://ntfy.sh/upAbCdEfGhIjKm?up=1"
        #expect(try name(other) != name(Self.given[5]))
    }

    @Test("of other hosts RFC 3986 says which spellings are one, and no more")
    func unknown() throws {
        func name(_ text: String) throws -> [UInt8] {
            try PushToken(service: .webPush, bytes: Array(text.utf8)).withCanonicalAddress {
                $0.array
            }
        }
        let one = try name("https://push.example.org/a-b/~c?token=%2F%3D")
        for same in [
            "https://Push.EXAMPLE.org/a-b/~c?token=%2f%3d",
            "https://push.example.org:443/%61%2Db/%7ec?%74oken=%2F%3D",
        ] { #expect(try name(same) == one, "\(same)") }
        for other in [
            "https://push.example.org/a-b/~c?token=/=",
            "https://push.example.org/a-b/~C?token=%2F%3D",
            "https://push.example.org/a-b/~c?token=%2F%3D&", "https://push.example.org/a-b//~c",
        ] { #expect(try name(other) != one, "\(other)") }
    }

    private func admits(_ rules: PushHostRules, _ host: String) -> Bool {
        rules.admits(host.utf8.map(\.lowercased))
    }

    @Test(
        "the known push services are admitted, in any case",
        arguments: [
            "fcm.googleapis.com", "FCM.GoogleApis.com", "updates.push.services.mozilla.com",
            "push.services.mozilla.com.push.services.mozilla.com", "web.push.apple.com",
            "api.push.apple.com", "wns2-par02p.notify.windows.com", "db5.notify.windows.com",
            "ntfy.sh", "up.conversations.im", "jmt17.google.com",
        ])
    func known(_ host: String) {
        #expect(admits(.known, host))
    }

    @Test(
        "hosts that only look like one are not",
        arguments: [
            "ntfy.sh.example.org", "xntfy.sh", "a.ntfy.sh", "example.org", "notify.windows.com",
            "evilnotify.windows.com", "notify.windows.com.evil.org", "fcm.googleapis.com.evil.org",
            "evil-fcm.googleapis.com", "googleapis.com", "push.apple.com", "xpush.apple.com",
            "web.push.apple.com.", "apple.com", "mozilla.com", "windows.com",
        ])
    func lookalikes(_ host: String) {
        #expect(!admits(.known, host))
    }

    @Test("names and names below, beside the known ones or instead of them")
    func lists() throws {
        let both = try rules("known, Push.Example.org *.up.example.net")
        #expect(admits(both, "ntfy.sh") && admits(both, "push.example.org"))
        #expect(admits(both, "a.up.example.net") && admits(both, "a.b.UP.example.net"))
        #expect(!admits(both, "up.example.net") && !admits(both, "a.push.example.org"))
        #expect(both.isKnown && both.named == 2 && !both.isAny)
        let one = try rules("push.example.org")
        #expect(!admits(one, "ntfy.sh") && admits(one, "push.example.org"))
        #expect(admits(try rules("any"), "whatever.example.org"))
        for bad in [
            "", " , ", "https://ntfy.sh", "ntfy.sh:443", "*", "*.com", "a_b.org", "127.0.0.1",
            "ntfy.sh/x", "*ntfy.sh", "a.*.org", "localhost", "x.local", "[::1]", "bücher.example",
        ] {
            #expect(PushHostRules(list: bad) == nil, "\(bad)")
        }
    }

    @Test("the host of an endpoint is in lower case, and nothing else has one")
    func forms() throws {
        let policy = EndpointPolicy.known(.any)
        #expect(
            policy.host(of: try token("https://A.Example.ORG/x")) == Array("a.example.org".utf8))
        #expect(policy.host(of: try token("https://a.example.org:443/x?y=%2F")) != nil)
        let apns = try PushToken(service: .apns, bytes: [UInt8](repeating: 1, count: 32))
        #expect(policy.host(of: apns) == nil)
    }

    @Test(
        "hostile endpoints are refused before there is anything to send",
        arguments: [
            "http://ntfy.sh/x", "https://ntfy.sh:8443/x", "https://ntfy.sh:80/x",
            "https://user@ntfy.sh/x", "https://ntfy.sh@evil.org/x", "https://user:pw@ntfy.sh/x",
            "https://127.0.0.1/x", "https://127.1/x", "https://2130706433/x",
            "https://0x7f000001/x", "https://0177.0.0.1/x", "https://0/x", "https://[::1]/x",
            "https://[::ffff:127.0.0.1]/x", "https://localhost/x", "https://a.localhost/x",
            "https://printer.local/x", "https://metadata.google.internal/x", "https://nas.lan/x",
            "https://x.onion/x", "https://ntfy.sh#@evil.org/", "https://ntfy.sh/x#y",
            "https://ntfy.sh\\@evil.org/x", "https://ntfy.sh/ x", "https://a.example.org/../x",
            "https://a.example.org/%zz",
            "https://a.example.org/%2e%2E/x", "https://a.example.org/a/./b",
            "https://ntfy.sh/\u{0}",
            "https://b\u{FC}cher.example/x", "https://ntfy\u{3002}sh/x",
            "https://ntfy.sh.%00.org/x",
            "https://ntfy.sh?x", "https://ntfy.sh", "https:///x", "https://.ntfy.sh/x",
            "https://ntfy..sh/x", "https://ntfy.sh./x", "https://-a.org/x", "https://a.1/x",
            "https://a.0x1/x", "ftp://ntfy.sh/x", "//ntfy.sh/x", "https:ntfy.sh/x",
            "HTTPS://ntfy.sh/x", "https://ntfy.sh:/x", "https://ntfy.sh:0443/x",
            "https://%6etfy.sh/",
        ])
    func hostile(_ text: String) throws {
        let bytes = Array(text.utf8)
        #expect(throws: PushTokenError.self) {
            try PushToken(service: .webPush, bytes: bytes)
        }
        #expect(PushEndpoint(bytes.span) == nil)
    }

    @Test("a host is refused when any of its addresses is not global, or there are none")
    func addresses() throws {
        let policy = EndpointPolicy.known(.any)
        let good = try #require(IPAddress("9.9.9.9"))
        #expect(policy.admits([good]) && !policy.admits([]))
        for text in [
            "127.0.0.1", "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1",
            "192.168.1.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1",
            "fc00::1", "::ffff:9.9.9.9", "64:ff9b::10.0.0.1", "64:ff9b::1", "2002:909:909::1",
            "2001:db8::1", "ff02::1",
        ] {
            let bad = try #require(IPAddress(text))
            #expect(!policy.admits([bad]) && !policy.admits([good, bad]), "\(text)")
        }
        let network = try #require(IPNetwork("10.1.0.0/16"))
        let own = EndpointPolicy.known(.any, networks: [network])
        #expect(own.admits([try #require(IPAddress("10.1.2.3")), good]))
        #expect(!own.admits([try #require(IPAddress("10.2.2.3"))]))
    }

    @Test(
        "an address behind a translator is judged by the one inside, whatever is allowed",
        arguments: [
            ("64:ff9b::9.9.9.9", true), ("64:ff9b::169.254.169.254", false),
            ("64:ff9b::10.1.2.3", false), ("64:ff9b::127.0.0.1", false), ("64:ff9b::", false),
            // RFC 8215, behind prefixes of 96, 48, 56 and 64 bits.
            ("64:ff9b:1::9.9.9.9", true), ("64:ff9b:1:fffe::169.254.169.254", false),
            ("64:ff9b:1:909:9:900::", true), ("64:ff9b:1:a9fe:a9:fe00::", false),
            ("64:ff9b:1:9:9:909::", true), ("64:ff9b:1:a:1:203::", false),
            ("64:ff9b:1:0:9:909:900::", true), ("64:ff9b:1:0:a9:fea9:fe00::", false),
            // A suffix that a translator may ignore.
            ("64:ff9b:1:a9fe:a9:fe00:909:909", false),
            // The operator's own.
            ("2a00:64::9.9.9.9", true), ("2a00:64::169.254.169.254", false),
            ("2a00:64::10.1.2.3", false), ("2a00:a00:909:909::", true),
            ("2a00:a00:a9fe:a9fe::", false), ("2a00:b00:9:909:9::", true),
            ("2a00:b00:a9:fea9:fe::", false),
            // Others, and those that no translator makes.
            ("2002:a00:1::1", false), ("64:ff9b:1:fffe::9.9.9.9", true),
            ("2002:a9fe:a9fe::", false), ("::ffff:169.254.169.254", false),
            ("::10.0.0.1", false), ("2001:0:909:909:0:0:5601:5601", false),
            ("2001:0:a00:1:0:0:f6f6:f6f6", false), ("::ffff:0:10.0.0.1", false),
            ("2a00:1450::5efe:10.0.0.1", false), ("2a00:1450::5efe:9.9.9.9", true),
        ])
    func translated(_ text: String, _ isAdmitted: Bool) throws {
        let address = try #require(IPAddress(text))
        let prefixes = ["2a00:64::/96", "2a00:a00::/32", "2a00:b00::/40"]
        var policy = EndpointPolicy.known(.any)
        policy.translation = try #require(
            AddressTranslation(prefixes: prefixes.compactMap { IPNetwork($0) }))
        #expect(policy.admits([address]) == isAdmitted)
        // With everything allowed that an operator might name for it.
        let named = [
            "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "::/32", "2001::/32", "2a00::/16",
        ]
        var open = EndpointPolicy.known(.any, networks: named.compactMap { IPNetwork($0) })
        open.translation = policy.translation
        #expect(open.admits([address]) == isAdmitted)
        let inner = try #require(IPNetwork("10.0.0.0/8"))
        var inside = EndpointPolicy.known(.any, networks: [inner])
        inside.translation = policy.translation
        #expect(inside.admits([try #require(IPAddress("64:ff9b::10.1.2.3"))]))
    }

    @Test("an address that is not global ends the host for the round, also at the second look")
    func rebinding() throws {
        var limits = WebPushLimits()
        limits.perHost = 16
        var world = WebPushWorld(limits: limits)
        world.answer = { _, _, _ in (1000, .answered(201)) }
        world.lookUp = { host, number in
            let inside = IPAddress(bytes: [169, 254, 169, 254])!
            let isBad = host == "bad.example.org" || host == "later.example.org" && number == 2
            return (5, .success(isBad ? [WebPushWorld.address, inside] : [WebPushWorld.address]))
        }
        let hosts = ["bad.example.org", "later.example.org", "good.example.org"]
        let wakeUps = try (0..<3000).map { try WebPushWorld.wakeUp($0, hosts[$0 % 3]) }
        world.run(wakeUps)
        #expect(world.asked["bad.example.org"] == nil)
        for number in 0..<3000 where number % 3 == 0 {
            #expect(world.settled[number] == .retry(.endpointRefused))
        }
        let before = try #require(world.asked["later.example.org"])
        // A minute of what sixteen at once make of a second each.
        #expect(before > 300 && before < 1000)
        #expect(world.settled.values.count { $0 == .retry(.endpointRefused) } == 2000 - before)
        #expect(world.settled.values.count { $0 == .accepted } == 1000 + before)
    }

    @Test("hosts that the rules no longer name are not sent to, and nothing is deleted")
    func rulesChange() throws {
        var world = WebPushWorld(.known(try rules("ok.example.org")))
        world.run([
            try WebPushWorld.wakeUp(0, "ok.example.org"),
            try WebPushWorld.wakeUp(1, "former.example.org"),
        ])
        #expect(world.settled == [0: .accepted, 1: .retry(.endpointRefused)])
        #expect(world.lookUps == ["ok.example.org": 1])
    }

    @Test("with connect no name is looked up, and everything goes there")
    func connect() throws {
        let there = try #require(IPAddress("127.0.0.1"))
        var world = WebPushWorld(.known(.any, fixed: [there]))
        world.run(try (0..<50).map { try WebPushWorld.wakeUp($0, "h\($0).example.org") })
        #expect(world.lookUps.isEmpty && world.settled.count == 50)
    }
}
