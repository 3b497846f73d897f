import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "The feed on Android, by the library in Java",
    .enabled(if: JavaProgram.isInstalled, "no javac (Debian: default-jdk-headless)"),
    .timeLimit(.minutes(20)))
struct PhoneFeedTests {
    private static let count =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 60 : 20_000
    /// Feeds that lie on the disk at a time.
    private static let tranche = 1000
    private static let vectors = Repository.absolute("Tests/WakeFeedTests/Vectors")
    private static let needsPython: Comment = "needs Python's cryptography"

    /// Has the library read random feeds of another implementation.
    /// - Parameters:
    ///   - maker: a script of the vectors, and its words before seed, count and directory.
    ///   - mode: the driver's word.
    private static func read(
        _ maker: [String], _ mode: String, in language: String, count: Int
    ) async throws -> [String: Int] {
        let program = try await JavaProgram(drivenBy: "FeedReader")
        var seen: [String: Int] = [:]
        for start in stride(from: 0, to: count, by: tranche) {
            let directory = try TemporaryDirectory()
            let few = min(tranche, count - start)
            let made = try await RunningProgram.run(
                path: "/usr/bin/env",
                ["python3", "-B", vectors + "/" + maker[0]] + maker.dropFirst()
                    + ["\(start + 1)", "\(few)", directory.path])
            #expect(made.status == 0, "\(made.output)")
            let read = try program.start([mode, directory.path], language: language)
            #expect(await read.exit() == 0, "\(read.output)")
            for number in 0..<few {
                let results = try ["result", "java"].map {
                    try String(contentsOfFile: directory.path + "/\(number)/\($0)", encoding: .utf8)
                }
                #expect(results[0] == results[1], "feed \(number) of \(start + 1)")
                seen[String(results[0].prefix { $0 != "\n" }), default: 0] += 1
            }
        }
        return seen
    }

    @Test(
        "of random feeds, half of them damaged, it says what Policy/FEED.md says, error by error",
        .enabled(if: PythonScript.has("cryptography"), needsPython),
        // Two of the languages have digits of their own.
        arguments: ["en-GB", "fa-IR", "ar-EG", "tr-TR"])
    func peer(_ language: String) async throws {
        let seen = try await Self.read(
            ["peer.py", "publish"], "read", in: language, count: Self.count)
        #expect(seen["ok", default: 0] > Self.count / 3 && seen.count > 5, "\(seen)")
    }

    @Test(
        "a client with a past, that is killed between any two lines, says what FEED.md says",
        .enabled(if: PythonScript.has("cryptography"), needsPython),
        arguments: ["en-GB", "fa-IR"])
    func pasts(_ language: String) async throws {
        let count = Self.count == 60 ? 60 : 2000
        let seen = try await Self.read(["pasts.py", "make"], "pasts", in: language, count: count)
        #expect(seen.values.reduce(0, +) == count)
    }

    @Test("so it does of the histories that are kept")
    func keptPasts() async throws {
        let program = try await JavaProgram(drivenBy: "FeedReader")
        let directory = try TemporaryDirectory()
        let copy = directory.path + "/pasts"
        try FileManager.default.copyItem(atPath: Self.vectors + "/pasts", toPath: copy)
        let read = try program.start(["pasts", copy])
        #expect(await read.exit() == 0, "\(read.output)")
        let names = try FileManager.default.contentsOfDirectory(atPath: copy).filter { $0 != "b" }
        #expect(names.count > 8)
        for name in names {
            let results = try ["result", "java"].map {
                try String(contentsOfFile: "\(copy)/\(name)/\($0)", encoding: .utf8)
            }
            #expect(results[0] == results[1], "\(name)")
        }
    }

    /// A device that runs one cycle at a time.
    private struct JavaReader {
        let program: JavaProgram
        let service: ServiceUnderTest
        let directory: TemporaryDirectory
        let secret = TestDevice().pushText

        init(_ service: ServiceUnderTest) async throws {
            self.service = service
            program = try await JavaProgram(drivenBy: "ClientCycles")
            directory = try TemporaryDirectory()
        }

        /// - Returns: the lines that it says, but the first.
        /// - Parameter url: where the feed's files are, by default at the service.
        func cycle(_ command: String = "cycle", at url: String? = nil) async throws -> [String] {
            let feed = url ?? service.url + "/feed/"
            let app = try program.start(
                [command, directory.path + "/state", service.url, feed, service.feedKey, secret],
                language: "fa-IR")
            #expect(await app.exit() == 0, "\(app.output)")
            return app.output.split(separator: "\n").dropFirst().map(String.init)
        }

        func publish(_ note: String) async throws {
            _ = try await service.publish([secret], notes: [note], "--again")
        }
    }

    private static let done = "failure null, 0 unchecked, []"

    @Test("it finds what reveille-client finds, by the same ids, once, and follows a change of key")
    func matches() async throws {
        let service = try await ServiceUnderTest()
        let reader = try await JavaReader(service)
        #expect(try await reader.cycle() == [Self.done])
        try await reader.publish("first")
        let first = try await reader.cycle()
        #expect(first.count == 2 && first[0].hasSuffix(" \"first\" of secret 0"), "\(first)")
        #expect(try await reader.cycle() == [Self.done])
        let succeeded = try await service.command("feed", "succeed", "--yes")
        #expect(succeeded.status == 0, "\(succeeded.output)")
        try await reader.publish("Zweite – ü")
        let second = try await reader.cycle()
        #expect(second.count == 2 && second[0].contains(" \"Zweite – ü\" of "), "\(second)")
        let plain = try await service.command(
            "feed", "publish", "-", "--secrets", "--again", input: Array(reader.secret.utf8))
        #expect(plain.status == 0, "\(plain.output)")
        #expect(try await reader.cycle().first?.contains(" - of ") == true)

        let client = try await ClientUnderTest(of: service)
        _ = try await client.command("secrets", "add", "visit", input: Array(reader.secret.utf8))
        let sync = try await client.command("sync", "--json")
        for line in [first[0], second[0]] {
            #expect(sync.output.contains(line.split(separator: " ")[1]), "\(sync.output)")
        }
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
        #expect(partial.count == 2 && partial[0].contains(" \"second\" "), "\(partial)")
        #expect(partial.last == "failure missingBatch, 1 unchecked, []", "\(partial)")
        try FileManager.default.moveItem(atPath: hidden, toPath: shown)
        let complete = try await reader.cycle(at: url)
        #expect(complete.count == 2 && complete[0].contains(" \"first\" "), "\(complete)")
        #expect(complete.last == Self.done, "\(complete)")
        // The feed of before, and then another second batch.
        let former = "http://127.0.0.1:\(port)/copy/"
        #expect(try await reader.cycle(at: former) == ["failure rollback, 0 unchecked, []"])
        #expect(try await reader.cycle(at: url) == [Self.done])
        let other = try await service.command(
            "feed", "publish", "-", "--secrets", "--feed", copy, "--key",
            service.directory.path + "/service/keys/feed.key",
            input: Array(TestDevice().pushText.utf8))
        #expect(other.status == 0, "\(other.output)")
        // Older than what was accepted, and another history all the same: for good.
        try await reader.publish("third")
        #expect(try await reader.cycle(at: url).count == 2)
        let forked = ["failure fork, 0 unchecked, [] forked"]
        #expect(try await reader.cycle(at: former) == forked)
        #expect(try await reader.cycle(at: url) == forked)
        // Begun again it believes the one it sees, and shows nothing twice.
        _ = try await reader.cycle("start-over")
        #expect(try await reader.cycle(at: url) == [Self.done])
    }
}
