import Foundation
import TestSupport
import Testing

@Suite("What a server wants remembered never comes back", .timeLimit(.minutes(5)))
struct NothingComesBackTests {
    /// Everything a browser would keep.
    private static func fields(_ number: Int, elsewhere: String) -> String {
        """
        Set-Cookie: id=\(number); Max-Age=99999; Path=/\r
        Set-Cookie: second=\(number); SameSite=None\r
        Alt-Svc: h3=":1"; ma=99999; persist=1, h2="127.0.0.1:1"; ma=99999\r
        Strict-Transport-Security: max-age=99999; includeSubDomains; preload\r
        ETag: "tracker-\(number)"\r
        Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r
        Cache-Control: max-age=99999, immutable\r
        Age: 5\r
        Link: <\(elsewhere)/link>; rel=preload\r
        Location: \(elsewhere)/location\r
        Content-Location: \(elsewhere)/content\r
        Refresh: 0; url=\(elsewhere)/refresh\r
        WWW-Authenticate: Basic realm="x", Negotiate\r
        Authentication-Info: nextnonce="\(number)"\r
        Clear-Site-Data: "*"\r
        Vary: Cookie, User-Agent\r
        Keep-Alive: timeout=99999\r
        Report-To: {"endpoints":[{"url":"\(elsewhere)/report"}]}\r
        NEL: {"report_to":"x","success_fraction":1}\r

        """
    }

    /// A site that answers everything with these fields, and the one they lead to.
    private func site(_ elsewhere: WireServer) async throws -> FeedSite {
        let site = try await FeedSite()
        try await site.publish()
        let count = Observed(0)
        let feed = site.feed
        site.answerRequests { request in
            let number = count.update {
                $0 += 1; return $0
            }
            let file = FileManager.default.contents(atPath: feed + request.path) ?? Data()
            let head =
                "HTTP/1.1 200 OK\r\nContent-Length: \(file.count)\r\n"
                + Self.fields(number, elsewhere: elsewhere.url) + "\r\n"
            return .wire(Array(head.utf8) + Array(file), ends: false)
        }
        return site
    }

    @Test("cookies, validators, other origins: ten looks of two clients are the same bytes")
    func feed() async throws {
        let visits = Observed(0)
        let elsewhere = try WireServer { _ in visits.update { $0 += 1 } }
        defer { elsewhere.refuse() }
        let site = try await site(elsewhere)
        for _ in 0..<2 {
            let client = try await ClientUnderTest(feed: site.url, key: site.key)
            for _ in 0..<5 { #expect(try await client.command("sync").status == 0) }
            // Nor does a file of the client hold a word of it.
            let words = ["tracker", "99999", "second="].map { Array($0.utf8) }
            #expect(try client.files(containing: words) == [])
        }
        #expect(site.requests.count == 14)
        let heads = Set(site.requests.filter { $0.path == "/head" }.map(\.head))
        #expect(heads.count == 1)
        let lines = try #require(heads.first).split(separator: "\r\n").map(String.init)
        #expect(lines[0] == "GET /head HTTP/1.1" && lines[1].hasPrefix("Host: "))
        #expect(lines.dropFirst(2) == ["User-Agent: Reveille", "Accept: */*"])
        // The keys and the batch.
        #expect(Set(site.requests.filter { $0.path != "/head" }.map(\.head)).count == 2)
        #expect(visits.value == 0)
    }

    @Test(
        "a redirect of any kind is a status, and nobody is asked at its end",
        arguments: [301, 302, 303, 307, 308])
    func redirects(_ status: Int) async throws {
        let visits = Observed(0)
        let elsewhere = try WireServer { _ in visits.update { $0 += 1 } }
        defer { elsewhere.refuse() }
        let site = try await FeedSite()
        try await site.publish()
        let head =
            "HTTP/1.1 \(status) Moved\r\nLocation: \(elsewhere.url)/login\r\n"
            + "Content-Length: 0\r\n\r\n"
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        for isHead in [true, false] {
            let answer = FeedSite.Answer.wire(Array(head.utf8), ends: false)
            if isHead { site.answerHead(answer) } else { site.answerBatches(answer) }
            let said = try await client.command("sync", "--json")
            #expect(said.status == 65, "\(said.output)")
            #expect(said.output.contains("\"failure\":\"http-status\""))
            #expect(try await client.status("sequence") == "0")
        }
        site.answer { _ in .file }
        #expect(try await client.command("sync").status == 0)
        #expect(visits.value == 0)
    }

    @Test("proxies, passwords and settings of the environment are not looked at")
    func environment() async throws {
        let visits = Observed(0)
        let proxy = try WireServer { _ in visits.update { $0 += 1 } }
        defer { proxy.refuse() }
        let site = try await FeedSite()
        try await site.publish()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        let home = try TemporaryDirectory()
        try "default login alice password secret\n".write(
            toFile: home.path + "/.netrc", atomically: true, encoding: .utf8)
        let settings = "proxy = \(proxy.url)\nuser-agent = mine\nheader = \"X-Mine: 1\"\n"
        for name in [".curlrc", "_curlrc"] {
            try settings.write(
                toFile: home.path + "/" + name, atomically: true, encoding: .utf8)
        }
        var variables = [
            "HOME": home.path, "CURL_HOME": home.path, "XDG_CONFIG_HOME": home.path,
            "NETRC": home.path + "/.netrc", "no_proxy": "nowhere.example",
            "NO_PROXY": "nowhere.example",
        ]
        for name in ["http_proxy", "https_proxy", "all_proxy", "socks_proxy"] {
            for name in [name, name.uppercased()] { variables[name] = proxy.url }
        }
        let look = try client.start("sync", environment: variables)
        #expect(await look.exit() == 0, "\(look.output)")
        let plain = try await client.command("sync")
        #expect(plain.status == 0)
        #expect(visits.value == 0)
        let heads = site.requests.filter { $0.path == "/head" }.map(\.head)
        #expect(heads.count == 2 && Set(heads).count == 1)
    }

    @Test("a registration's answer is bounded, and nothing of it comes back")
    func registration() async throws {
        let requests = Observed<[WireRequest]>([])
        let endless = [UInt8](repeating: 0x57, count: 65_536)
        let lies: [(head: String, body: [UInt8], isEndless: Bool)] = [
            ("200 OK\r\nContent-Length: 10000000000", [], true), ("200 OK", [], true),
            ("204 No Content\r\nSet-Cookie: id=1; Max-Age=99999\r\nETag: \"1\"", [], false),
        ]
        let turn = Observed(0)
        let server = try WireServer { peer in
            while let request = WireRequest(from: peer) {
                requests.update { $0.append(request) }
                let lie = lies[turn.value]
                guard (try? peer.send("HTTP/1.1 \(lie.head)\r\n\r\n")) != nil else { return }
                while lie.isEndless {
                    guard (try? peer.send(endless)) != nil else { return }
                }
            }
        }
        defer { server.refuse() }
        let site = try await FeedSite()
        let client = try await ClientUnderTest(
            feed: site.url, key: site.key, "--service", server.url, "--channel", "poll")
        let text = Array(TestDevice().pushText.utf8)
        for index in 0..<2 {
            turn.update { $0 = index }
            let answer = try await client.command("register", "apns", "--json", input: text)
            #expect(answer.status != 0 && answer.output.contains("\"registering\""))
            let stored = try await client.command("stored")
            #expect(stored.status == 65, "\(stored.output)")
        }
        turn.update { $0 = 2 }
        for _ in 0..<3 {
            #expect(try await client.command("register", "apns", input: text).status == 0)
        }
        let puts = requests.value.filter { $0.method == "PUT" }
        #expect(puts.count == 5 && Set(puts.map(\.head)).count == 1)
        #expect(Set(puts.map(\.body)).count == 1)
    }
}
