import Foundation
import TestSupport
import Testing

@Suite("The client behind a SOCKS5 proxy", .timeLimit(.minutes(5)))
struct SocksTests {
    private static let onion =
        "vww6ybal4bd7szmgncyruucpgfkqahzddi37ktceo3ah7ngmcopnpyyd.onion"
    private static let host = "names-that-nobody-else-knows.invalid"

    /// A client that reaches a service under this name, through the proxy alone.
    private func client(
        of service: ServiceUnderTest, at host: String, _ proxy: SocksProxy
    ) async throws -> ClientUnderTest {
        try await ClientUnderTest(
            feed: "http://\(host)/feed/", key: service.feedKey, "--service", "http://\(host)",
            "--proxy", "127.0.0.1:\(proxy.port)")
    }

    @Test("an onion service works whole: feed, registration and stream, each on its own circuit")
    func onionService() async throws {
        let service = try await ServiceUnderTest()
        let proxy = try SocksProxy(hosts: [Self.onion: service.port])
        let client = try await client(of: service, at: Self.onion, proxy)
        let reports = try MatchReports(in: client.directory)
        let secret = try await client.addSecret("visit")
        #expect(try await client.register(TestDevice()) == 0)
        let listening = try await client.listen("--on-match", reports.program)
        _ = try await service.publish([secret], notes: ["note"], "--then-broadcast")
        #expect(try await reports.atLeast(1).map(\.note) == ["note"])
        listening.signal(SIGTERM)
        #expect(await listening.exit() == 0)
        #expect(try await client.command("unregister").status == 0)
        #expect(try service.rows() == 0)

        let visits = proxy.visits
        #expect(visits.allSatisfy { $0.addressType == 3 && $0.host == Self.onion && $0.port == 80 })
        #expect(Set(visits.map(\.user)) == ["feed", "registration", "stream"])
        // Three starts of the program: three passwords, never one for two purposes of one start.
        let passwords = Dictionary(grouping: visits, by: \.password)
        #expect(passwords.count == 3, "\(visits)")
        #expect(passwords.keys.allSatisfy { $0.utf8.count == 22 })
        #expect(passwords.values.contains { Set($0.map(\.user)) == ["feed", "stream"] })
    }

    @Test("two profiles, and two starts of one, are never on one circuit")
    func isolation() async throws {
        let service = try await ServiceUnderTest()
        let proxy = try SocksProxy(hosts: [Self.onion: service.port])
        for _ in 0..<3 {
            let client = try await client(of: service, at: Self.onion, proxy)
            for _ in 0..<2 { #expect(try await client.command("sync").status == 0) }
        }
        #expect(proxy.visits.count == 6)
        #expect(Set(proxy.visits.map(\.password)).count == 6)
        #expect(Set(proxy.visits.map(\.user)) == ["feed"])
    }

    @Test("a proxy that is gone, or knows no such host, is no reason to go around it")
    func gone() async throws {
        let service = try await ServiceUnderTest()
        let proxy = try SocksProxy(hosts: [:])
        let unknown = try await client(of: service, at: Self.onion, proxy)
        let answer = try await unknown.command("sync", "--json")
        #expect(answer.status == 75 && answer.output.contains("\"failure\":\"network\""))
        let nobody = try WireServer.reservedPort()
        let lonely = try await ClientUnderTest(
            feed: service.url + "/feed/", key: service.feedKey, "--proxy",
            "127.0.0.1:\(nobody.port)")
        #expect(try await lonely.command("sync").status == 75)
        #expect(try await lonely.status("sequence") == "0")
    }

    private static func service(at host: String) -> [String] {
        ["--feed", "http://127.0.0.1:9/", "--service", "http://\(host)"]
    }

    /// As somebody does who edits the file.
    private static func removeProxy(_ state: String) throws {
        let path = state + "/client.conf"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("proxy") }
        guard lines.count < text.split(separator: "\n").count else { throw TestFailure(text) }
        try (lines.joined(separator: "\n") + "\n").write(
            toFile: path, atomically: false, encoding: .utf8)
    }

    @Test("an onion service without a proxy is refused before anything is sent")
    func noProxy() async throws {
        let service = try await ServiceUnderTest()
        for words in [["--feed", "http://\(Self.onion)/feed/"], Self.service(at: Self.onion)] {
            let directory = try TemporaryDirectory()
            let made = try await RunningProgram.run(
                "reveille-client",
                ["init", "--key", service.feedKey, "--state", directory.path + "/state"] + words)
            #expect(made.status == 78 && made.output.contains("an onion service needs one"))
        }
        let client = try await ClientUnderTest(
            feed: "http://\(Self.onion)/feed/", key: service.feedKey, "--proxy", "127.0.0.1:9")
        try Self.removeProxy(client.state)
        let answer = try await client.command("sync", "--json")
        #expect(answer.status == 78 && answer.output.contains("\"failure\":\"configuration\""))
        let told = try await client.command("sync")
        #expect(told.output.contains("an onion service needs one"), "\(told.output)")
        // And plain http is for loopback and onion services alone, proxy or not.
        let directory = try TemporaryDirectory()
        let plain = try await RunningProgram.run(
            "reveille-client",
            [
                "init", "--feed", "http://\(Self.host)/feed/", "--key", service.feedKey,
                "--proxy", "127.0.0.1:9050", "--state", directory.path + "/state",
            ])
        #expect(plain.status == 78, "\(plain.output)")
    }

    @Test("the client asks no name server: names go to the proxy, also over https")
    func noLookup() async throws {
        guard let names = try NameServer() else {
            try Test.cancel("needs the right to serve port 53 and to mount over resolv.conf")
        }
        let service = try await ServiceUnderTest()
        let proxy = try SocksProxy(hosts: [Self.host: service.port])
        let through = try await ClientUnderTest(
            feed: "https://\(Self.host)/feed/", key: service.feedKey, "--proxy",
            "127.0.0.1:\(proxy.port)")
        // There is no TLS at the other end; that the proxy was asked is what counts.
        let answer = try await names.run(["sync", "--state", through.state])
        #expect(answer.status == 75, "\(answer.output)")
        #expect(proxy.visits.map(\.host) == [Self.host])
        #expect(names.questions == [])
        // An onion name never reaches a name server either, with a proxy or without.
        let onion = try await ClientUnderTest(
            feed: "https://\(Self.onion)/", key: service.feedKey, "--proxy",
            "127.0.0.1:\(proxy.port)")
        #expect(try await names.run(["sync", "--state", onion.state]).status != 0)
        try Self.removeProxy(onion.state)
        #expect(try await names.run(["sync", "--state", onion.state]).status == 78)
        #expect(names.questions == [])
        // The control: without a proxy the name server is asked, and seen to be.
        let direct = try await ClientUnderTest(
            feed: "https://\(Self.host)/feed/", key: service.feedKey)
        #expect(try await names.run(["sync", "--state", direct.state]).status == 75)
        try await names.wait(for: Self.host)
    }
}
