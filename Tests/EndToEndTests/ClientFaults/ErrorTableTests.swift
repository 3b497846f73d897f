import Foundation
import TestSupport
import Testing
import WakeSystem

/// What a person meets on the road: each ends with its exit status and its words, the cursor stays,
/// and the next honest answer is taken.
@Suite("Every trouble on the line ends as it should", .timeLimit(.minutes(5)))
struct ErrorTableTests {
    private func place() async throws -> (FeedSite, ClientUnderTest) {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try await site.publish()
        #expect(try await client.command("sync").status == 0)
        try await site.publish(try await client.addSecret("visit"))
        return (site, client)
    }

    private func expectFound(_ site: FeedSite, _ client: ClientUnderTest) async throws {
        #expect(try await client.status("sequence") == "1")
        site.answer { _ in .file }
        #expect(try await client.command("sync").status == 10)
        #expect(try await client.status("sequence") == "2")
    }

    struct Portal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: FeedSite.Answer
        let status: Int32
        let code: String
    }

    private static func page(_ status: String, _ fields: String, _ body: String) -> FeedSite.Answer
    {
        .wire(
            Array("HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n".utf8)
                + Array(body.utf8), ends: false)
    }

    static let portals: [Portal] = [
        Portal(
            testDescription: "a short page",
            answer: page("200 OK", "Content-Type: text/html\r\n", "<html>Please log in</html>"),
            status: 65, code: "bad-signature"),
        Portal(
            testDescription: "a long page",
            answer: page("200 OK", "", "<html>" + String(repeating: "login ", count: 9000)),
            status: 65, code: "too-large"),
        Portal(
            testDescription: "a page of a head's length",
            answer: page("200 OK", "", String(repeating: "<p>hello", count: 512)),
            status: 65, code: "bad-signature"),
        Portal(
            testDescription: "a redirect to a login",
            answer: page("302 Found", "Location: http://192.0.2.1/login\r\n", ""),
            status: 65, code: "http-status"),
        Portal(
            testDescription: "RFC 6585's own status",
            answer: page("511 Network Authentication Required", "", "<html>"),
            status: 75, code: "http-status"),
    ]

    @Test(
        "a captive portal moves nothing, and is told after a day of nothing else",
        arguments: portals)
    func portal(_ portal: Portal) async throws {
        let (site, client) = try await place()
        site.answer { _ in portal.answer }
        let answer = try await client.command("sync", "--json")
        #expect(answer.status == portal.status, "\(answer.output)")
        #expect(answer.output.contains("\"failure\":\"\(portal.code)\""), "\(answer.output)")
        #expect(!answer.output.contains("warning"))
        if FakeTime.isInstalled {
            let soon = try await FakeTime.run(client, "+23h", "sync")
            #expect(soon.status == portal.status && !soon.output.contains("warning"))
            let later = try await FakeTime.run(client, "+25h", "sync")
            #expect(later.status == portal.status)
            #expect(
                later.output.contains(
                    "warning: nothing but heads without a valid signature for a day"),
                "\(later.output)")
            // Said once.
            let last = try await FakeTime.run(client, "+26h", "sync")
            #expect(!last.output.contains("warning"), "\(last.output)")
        }
        try await expectFound(site, client)
    }

    @Test(
        "a clock that is ahead is told as that where the server says the time",
        .enabled(if: FakeTime.isInstalled, "needs faketime"))
    func clockOfServer() async throws {
        let (site, client) = try await place()
        let time = DateFormatter()
        time.locale = Locale(identifier: "en_US_POSIX")
        time.timeZone = TimeZone(identifier: "GMT")
        time.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let fields = "Date: \(time.string(from: .now))\r\n"
        let head = site.head
        site.answerHead(
            .wire(
                Array("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(head.count)\r\n\r\n".utf8)
                    + head, ends: false))
        let answer = try await FakeTime.run(client, "+1y", "sync")
        #expect(answer.status == 10, "\(answer.output)")
        #expect(answer.output.contains("warning: this device's clock is 3"), "\(answer.output)")
        #expect(answer.output.contains("s ahead of the feed's"), "\(answer.output)")
        #expect(!answer.output.contains("expired"), "\(answer.output)")
    }

    @Test("a program of --on-match that is not there is told at once, and what is found waits")
    func missingProgram() async throws {
        let (site, client) = try await place()
        defer { withExtendedLifetime(site) {} }
        let answer = try await client.command("sync", "--on-match", "/nowhere/on-match")
        #expect(answer.status == 74, "\(answer.output)")
        #expect(answer.output.contains("/nowhere/on-match"), "\(answer.output)")
        #expect(try await client.command("sync").status == 10)
    }

    @Test(
        "statuses, with and without hope",
        arguments: [(500, 75), (503, 75), (429, 75), (404, 65), (403, 65), (410, 65), (204, 65)])
    func statuses(_ status: Int, _ exit: Int32) async throws {
        let (site, client) = try await place()
        site.answer { _ in Self.page("\(status) Status", "Retry-After: 5\r\n", "") }
        let answer = try await client.command("sync")
        #expect(answer.status == exit)
        #expect(answer.output.contains("the server answered \(status)"), "\(answer.output)")
        try await expectFound(site, client)
    }

    @Test(
        "compressed without being asked for: said as it is, and a page for people as a portal's",
        arguments: [("octet-stream", 65, "compress"), ("html", 65, "captive portal")])
    func compressed(_ type: (name: String, status: Int32, words: String)) async throws {
        let (site, client) = try await place()
        let kind = type.name == "html" ? "text/html" : "application/" + type.name
        site.answer { _ in
            Self.page("200 OK", "Content-Type: \(kind)\r\nContent-Encoding: gzip\r\n", "\u{1F}gzip")
        }
        let answer = try await client.command("sync")
        #expect(answer.status == type.status && answer.output.contains(type.words))
        try await expectFound(site, client)
    }

    @Test("a feed's URL without its path: a hint when it is written, and where it is not found")
    func withoutPath() async throws {
        let service = try await ServiceUnderTest()
        let directory = try TemporaryDirectory()
        let words = ["--state", directory.path + "/state"]
        let made = try await RunningProgram.run(
            "reveille-client",
            ["init", "--feed", service.url + "/", "--key", service.feedKey] + words)
        #expect(made.status == 0 && made.output.contains("below /feed/"), "\(made.output)")
        for command in ["sync", "doctor"] {
            let answer = try await RunningProgram.run("reveille-client", [command] + words)
            #expect(answer.output.contains("the server answered 404"), "\(answer.output)")
            #expect(answer.output.contains("hint: is the feed below /feed/?"), "\(answer.output)")
        }
        let right = try await RunningProgram.run(
            "reveille-client",
            [
                "init", "--feed", service.url + "/feed/", "--key", service.feedKey, "--state",
                directory.path + "/right",
            ])
        #expect(right.status == 0 && right.output == "")
    }

    @Test("nobody there, a line that breaks, and an answer that is no HTTP: try later")
    func line() async throws {
        let (site, client) = try await place()
        site.answer { _ in .wire([], ends: true) }
        #expect(try await client.command("sync").status == 75)
        site.answer { _ in .wire(Array("SSH-2.0-OpenSSH_9.2\r\n".utf8), ends: true) }
        let answer = try await client.command("sync", "--json")
        #expect([65, 75].contains(answer.status), "\(answer.output)")
        try await expectFound(site, client)
        let nobody = try WireServer.reservedPort()
        let lonely = try await ClientUnderTest(feed: nobody.url + "/", key: site.key)
        let refused = try await lonely.command("sync")
        #expect(refused.status == 75)
        #expect(refused.output.hasPrefix("reveille-client: the server cannot be reached\nhint: "))
    }

    @Test("a batch that the server has lost is told as that, by sync, doctor and status")
    func lostBatch() async throws {
        let (site, client) = try await place()
        site.answer { $0.hasPrefix("b/") ? Self.page("404 No", "", "") : .file }
        let words = "the server lacks a batch that the feed's head names"
        for command in ["sync", "doctor", "status"] {
            let answer = try await client.command(command)
            #expect(answer.output.contains(words), "\(command): \(answer.output)")
            #expect(answer.status == ["sync": 65, "doctor": 78][command] ?? 0)
        }
        try await expectFound(site, client)
        #expect(try await client.command("doctor").status == 0)
    }

    @Test(
        "a certificate that nobody trusts is never looked past",
        .enabled(if: OpenSSLCommand.isInstalled, "needs openssl"))
    func certificate() async throws {
        let authority = try TestAuthority()
        let (certificate, key) = try authority.issue(for: "localhost")
        let server = try RunningProgram(
            path: "/usr/bin/openssl",
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www",
            ])
        let line = try await server.line(containing: "ACCEPT ")
        let port = try #require(line.split(separator: ":").last)
        let site = try await FeedSite()
        let client = try await ClientUnderTest(
            feed: "https://localhost:\(port)/", key: site.key)
        let answer = try await client.command("sync", "--json")
        #expect(answer.status == 75 && answer.output.contains("\"failure\":\"tls\""))
        let words = try await client.command("sync")
        #expect(words.output.contains("no authority that this device trusts issued"))
        server.signal(SIGTERM)
        _ = await server.exit()
    }
}
