import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "The feed on Android, by the file in Java",
    .enabled(if: JavaProgram.isInstalled, "no javac (Debian: default-jdk-headless)"),
    .timeLimit(.minutes(20)))
struct PhoneFeedTests {
    private static let count =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 60 : 20_000
    /// Feeds that lie on the disk at a time.
    private static let tranche = 1000

    @Test(
        "of random feeds, half of them damaged, it says what Policy/FEED.md says, error by error",
        .enabled(if: PythonScript.has("cryptography"), "needs Python's cryptography"),
        // Two of the languages have digits of their own.
        arguments: ["en-GB", "fa-IR", "ar-EG", "tr-TR"])
    func peer(_ language: String) async throws {
        let program = try await JavaProgram("Feed", drivenBy: "FeedReader")
        let peer = Repository.absolute("Tests/WakeFeedTests/Vectors/peer.py")
        var seen: [String: Int] = [:]
        for start in stride(from: 0, to: Self.count, by: Self.tranche) {
            let directory = try TemporaryDirectory()
            let count = min(Self.tranche, Self.count - start)
            let made = try await RunningProgram.run(
                path: "/usr/bin/env",
                ["python3", "-B", peer, "publish", "\(start + 1)", "\(count)", directory.path])
            #expect(made.status == 0, "\(made.output)")
            let read = try program.start(["read", directory.path], language: language)
            #expect(await read.exit() == 0, "\(read.output)")
            for number in 0..<count {
                let results = try ["result", "java"].map {
                    try String(contentsOfFile: directory.path + "/\(number)/\($0)", encoding: .utf8)
                }
                #expect(results[0] == results[1], "feed \(number) of \(start + 1)")
                seen[String(results[0].prefix { $0 != "\n" }), default: 0] += 1
            }
        }
        #expect(seen["ok", default: 0] > Self.count / 3 && seen.count > 5, "\(seen)")
    }

    /// A device that runs one cycle at a time.
    private struct JavaReader {
        let program: JavaProgram
        let service: ServiceUnderTest
        let directory: TemporaryDirectory
        let secret = TestDevice().pushText

        init(_ service: ServiceUnderTest) async throws {
            self.service = service
            program = try await JavaProgram("Feed", drivenBy: "FeedReader")
            directory = try TemporaryDirectory()
        }

        /// - Returns: the lines that it says.
        /// - Parameter url: where the feed's files are, by default at the service.
        func cycle(at url: String? = nil) async throws -> [String] {
            let key = Base64URL.decode(Array(service.feedKey.utf8).span) ?? []
            let app = try program.start(
                [
                    "cycle", url ?? service.url + "/feed/",
                    String(decoding: Hex.encode(key.span), as: UTF8.self),
                    directory.path + "/state", secret,
                ])
            #expect(await app.exit() == 0, "\(app.output)")
            return app.output.split(separator: "\n").map(String.init)
        }

        func publish(_ note: String) async throws {
            _ = try await service.publish([secret], notes: [note], "--again")
        }
    }

    @Test("it finds what reveille-client finds, by the same ids, once, and follows a change of key")
    func matches() async throws {
        let service = try await ServiceUnderTest()
        let reader = try await JavaReader(service)
        #expect(try await reader.cycle() == ["unchecked []"])
        try await reader.publish("first")
        let first = try await reader.cycle()
        #expect(first.count == 2 && first[0].hasSuffix(" first"), "\(first)")
        #expect(try await reader.cycle() == ["unchecked []"])
        let succeeded = try await service.command("feed", "succeed", "--yes")
        #expect(succeeded.status == 0, "\(succeeded.output)")
        try await reader.publish("Zweite – ü")
        let second = try await reader.cycle()
        #expect(second.count == 2 && second[0].hasSuffix(" Zweite – ü"), "\(second)")

        let client = try await ClientUnderTest(of: service)
        _ = try await client.command("secrets", "add", "visit", input: Array(reader.secret.utf8))
        let sync = try await client.command("sync", "--json")
        for line in [first[0], second[0]] {
            #expect(sync.output.contains(line.split(separator: " ")[1]), "\(sync.output)")
        }
    }

    @Test("the cycle that Deploy/PHONES.md shows is the one that is tried here")
    func sameText() throws {
        let lines = try Repository.text("Tests/LibraryUse/FeedReader.java").split(
            separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.contains("/** One cycle of an app") })
        let end = try #require(lines[start...].firstIndex(of: "    }"))
        let text = lines[start...end].map { $0.dropFirst(4) }.joined(separator: "\n")
        #expect(try Repository.text("Deploy/PHONES.md").contains("```java\n\(text)\n```\n"))
    }

    @Test("what is withheld is asked for again, what is older or another history is refused")
    func withheld() async throws {
        let service = try await ServiceUnderTest()
        let reader = try await JavaReader(service)
        let files = service.directory.path + "/service/feed"
        let host = try RunningProgram(
            path: "/usr/bin/env",
            [
                "python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory",
                service.directory.path + "/service",
            ])
        let line = try await host.line(containing: "Serving HTTP on ")
        let port = try #require(line.firstMatch(of: /port ([0-9]+)/)).1
        let url = "http://127.0.0.1:\(port)/feed/"
        try await reader.publish("first")
        let copy = service.directory.path + "/service/copy"
        try FileManager.default.copyItem(atPath: files, toPath: copy)
        try await reader.publish("second")
        let names = try FileManager.default.contentsOfDirectory(atPath: files + "/b").sorted()
        let shown = files + "/b/" + names[0]
        let hidden = service.directory.path + "/hidden"
        try FileManager.default.moveItem(atPath: shown, toPath: hidden)
        let partial = try await reader.cycle(at: url)
        #expect(partial.count == 2 && partial[0].hasSuffix(" second"), "\(partial)")
        #expect(partial.last == "unchecked [1]", "\(partial)")
        try FileManager.default.moveItem(atPath: hidden, toPath: shown)
        let complete = try await reader.cycle(at: url)
        #expect(complete.count == 2 && complete[0].hasSuffix(" first"), "\(complete)")
        #expect(complete.last == "unchecked []", "\(complete)")
        // The feed of before, and then another second batch.
        let former = "http://127.0.0.1:\(port)/copy/"
        #expect(try await reader.cycle(at: former) == ["refused rollback"])
        let other = try await service.command(
            "feed", "publish", "-", "--secrets", "--feed", copy, "--key",
            service.directory.path + "/service/keys/feed.key",
            input: Array(TestDevice().pushText.utf8))
        #expect(other.status == 0, "\(other.output)")
        #expect(try await reader.cycle(at: former) == ["refused fork"])
        // Older than what was accepted, and another history all the same.
        try await reader.publish("third")
        #expect(try await reader.cycle(at: url).count == 2)
        #expect(try await reader.cycle(at: former) == ["refused fork"])
        #expect(try await reader.cycle(at: url) == ["unchecked []"])
    }
}
