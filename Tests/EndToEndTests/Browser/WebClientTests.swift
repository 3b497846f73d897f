import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "The client for browsers, in Node",
    .enabled(if: NodeProgram.isInstalled, NodeProgram.missing), .timeLimit(.minutes(20)))
struct WebClientTests {
    private static let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil
    private static let plain = "REVEILLE_ED25519=plain"
    private static let vectors = Repository.absolute("Tests/WakeFeedTests/Vectors")

    /// Whether what it writes as `mjs` is what stands beside it as `result`, in every folder.
    private static func agrees(in directory: String) throws -> [String: Int] {
        var seen: [String: Int] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name != "b"
        {
            let results = try ["result", "mjs"].map {
                try String(contentsOfFile: "\(directory)/\(name)/\($0)", encoding: .utf8)
            }
            #expect(results[0] == results[1], "\(directory)/\(name)")
            for line in results[0].split(separator: "\n") {
                let words = line.split(separator: " ").filter { Int($0) == nil }.prefix(2)
                seen[words.joined(separator: " "), default: 0] += 1
            }
        }
        return seen
    }

    @Test(
        "of random feeds, half of them damaged, it says what Policy/FEED.md says, error by error",
        .enabled(if: PythonScript.has("cryptography"), "needs Python's cryptography"),
        arguments: ["REVEILLE_ED25519=native", plain])
    func peer(_ variable: String) async throws {
        let count = Self.isLong ? 4000 : 60
        for start in stride(from: 0, to: count, by: 1000) {
            let directory = try TemporaryDirectory()
            let made = try await RunningProgram.run(
                path: "/usr/bin/env",
                [
                    "python3", "-B", Self.vectors + "/peer.py", "publish", "\(start + 1)",
                    "\(min(1000, count - start))", directory.path,
                ])
            #expect(made.status == 0, "\(made.output)")
            let read = try NodeProgram.start(["read", directory.path], [variable])
            #expect(await read.exit() == 0, "\(read.output)")
            let seen = try Self.agrees(in: directory.path)
            #expect(seen["ok", default: 0] > 20 && seen.count > 5, "\(seen)")
        }
    }

    @Test(
        "of clients with a past, the same, check by check",
        .enabled(if: PythonScript.has("cryptography"), "needs Python's cryptography"),
        arguments: ["REVEILLE_ED25519=native", plain])
    func pasts(_ variable: String) async throws {
        let directory = try TemporaryDirectory()
        let (kept, random) = (directory.path + "/kept", directory.path + "/random")
        try FileManager.default.copyItem(atPath: Self.vectors + "/pasts", toPath: kept)
        let made = try await RunningProgram.run(
            path: "/usr/bin/env",
            [
                "python3", "-B", Self.vectors + "/pasts.py", "make", "1",
                Self.isLong ? "1000" : "40", random,
            ])
        #expect(made.status == 0, "\(made.output)")
        var seen: [String: Int] = [:]
        for folder in [kept, random] {
            let read = try NodeProgram.start(["pasts", folder], [variable])
            #expect(await read.exit() == 0, "\(read.output)")
            seen.merge(try Self.agrees(in: folder), uniquingKeysWith: +)
        }
        for line in ["refused rollback", "refused fork", "refused proof(noQuorum)", "head gap"] {
            #expect(seen[line] != nil, "\(line) of \(seen)")
        }
    }

    @Test(
        "a signature is taken and refused as libsodium does it, with and without WebCrypto",
        arguments: ["REVEILLE_ED25519=native", plain])
    func signatures(_ variable: String) async throws {
        let key = SigningKey(seed: [UInt8](repeating: 7, count: 32).span)
        let message = Array("message".utf8)
        let good = key.sign(message.span)
        func joined(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }
        // s + L, which some take.
        let order: [UInt8] =
            [
                0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9,
                0xde, 0x14,
            ] + [UInt8](repeating: 0, count: 15) + [0x10]
        var (larger, carry) = ([UInt8](), 0)
        for (a, b) in zip(good[32...], order) {
            carry += Int(a) + Int(b)
            larger.append(UInt8(carry & 255))
            carry >>= 8
        }
        let one: [UInt8] = [1] + [UInt8](repeating: 0, count: 31)
        let zero = [UInt8](repeating: 0, count: 32)
        // p + 1: the neutral point, written as it must not be.
        let unwritten: [UInt8] = [0xee] + [UInt8](repeating: 0xff, count: 30) + [0x7f]
        let eighth =
            Hex.decode(
                Array("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a".utf8).span)
            ?? []
        var cases: [(key: [UInt8], signature: [UInt8])] = [
            (key.verifyingKey.bytes, good),
            (key.verifyingKey.bytes, joined(Array(good[..<32]), larger)),
            // Of such keys every such signature is right.
            (one, joined(one, zero)), (unwritten, joined(one, zero)), (eighth, joined(one, zero)),
            (key.verifyingKey.bytes, joined(one, zero)), (zero, good),
        ]
        for place in [0, 31, 32, 63] {
            var damaged = good
            damaged[place] ^= 1
            cases.append((key.verifyingKey.bytes, damaged))
        }
        let lines = cases.map { each in
            [each.key, message, each.signature]
                .map { String(decoding: Hex.encode($0.span), as: UTF8.self) }.joined(separator: " ")
        }
        let program = try NodeProgram.start(
            ["signatures"], [variable], input: Array(lines.joined(separator: "\n").utf8 + [10]))
        #expect(await program.exit() == 0, "\(program.output)")
        let expected = cases.map { each in
            let key = VerifyingKey(each.key)
            return key?.verifies(each.signature.span, of: message.span) ?? false
        }
        #expect(expected.count { $0 } == 1)
        #expect(program.output.split(separator: "\n").map { $0 == "true" } == expected)
    }

    /// One app: where it keeps its state, and where it shows matches.
    private struct App {
        let service: ServiceUnderTest
        let directory: TemporaryDirectory
        let secrets: [String]

        func start(_ words: [String] = [], _ variables: [String] = []) throws -> RunningProgram {
            try NodeProgram.start(
                [
                    "cycle", service.url + "/feed/", service.feedKey, service.url + "/",
                    directory.path + "/state", directory.path + "/shown",
                ] + secrets + words, variables)
        }

        /// What was shown: the lines of each file, of which a match has one.
        func shown() throws -> [[Substring]] {
            let folder = directory.path + "/shown/"
            return try FileManager.default.contentsOfDirectory(atPath: folder).map {
                try String(contentsOfFile: folder + $0, encoding: .utf8).split(separator: "\n")
            }
        }
    }

    @Test("a kill before any change of the state loses no match, and doubles none")
    func kills() async throws {
        let service = try await ServiceUnderTest(
            sections: "\n[webpush]\nkey = keys/vapid.key\nhosts = any\n")
        let secrets = (0..<3).map { _ in TestDevice().pushText }
        for (secret, note) in zip(secrets, ["first", "second", "third"]) {
            _ = try await service.publish([secret], notes: [note], "--again")
        }
        var kills = 0
        for number in 1...40 {
            let app = App(service: service, directory: try TemporaryDirectory(), secrets: secrets)
            let words = ["endpoint=https://push.example.org/\(number)"]
            let killed = try app.start(words, ["REVEILLE_KILL=\(number)"])
            let status = await killed.exit()
            let last = try app.start(words)
            #expect(await last.exit() == 0, "\(last.output)")
            #expect(last.output.contains("\"registration\":\"registered\""), "\(last.output)")
            #expect(last.output.contains("\"matchesToDeliver\":0"), "\(last.output)")
            let shown = try app.shown()
            #expect(
                Set(shown.map { $0.first ?? "" }) == [
                    "secret 0 first", "secret 1 second", "secret 2 third",
                ])
            // Killed after it was shown and before that was stored: shown again under one tag.
            #expect(shown.count == 3 && shown.map(\.count).reduce(0, +) <= 4, "\(shown)")
            guard status != 0 else { break }
            #expect(status == -SIGKILL)
            kills = number
        }
        #expect(kills > 10 && kills < 40, "\(kills)")
        #expect(try service.rows() == kills + 1)
    }

    @Test("a push that a page asks for itself arrives")
    func push() async throws {
        let mock = try await MockWebPush()
        let service = try await ServiceUnderTest(sections: mock.section, serving: .nothing)
        let app = App(service: service, directory: try TemporaryDirectory(), secrets: [])
        let page = try app.start(["endpoint=" + MockWebPush.endpoint(1, host: 0), "push"])
        #expect(await page.exit() == 0)
        // Before it was registered, once, and once more within ten minutes.
        #expect(
            page.output.contains(/pushed notRegistered 0 (5[0-9][0-9]|600)\n/), "\(page.output)")
        let admin = service.directory.path + "/service/admin.sock"
        var metrics = ""
        while !metrics.contains("\nreveille_test_pushes_accepted_total 1\n") {
            let answer = try LoopbackClient(path: admin).exchange("GET", "/metrics")
            metrics = String(decoding: answer.body, as: UTF8.self)
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(await service.stop() == 0)
        let report = try await mock.report()
        #expect(report.distinct == 1 && report.duplicates == 0)
    }

    @Test("three pages at once, without locks, show each match once")
    func together() async throws {
        let service = try await ServiceUnderTest()
        let secrets = (0..<3).map { _ in TestDevice().pushText }
        for secret in secrets { _ = try await service.publish([secret], notes: [], "--again") }
        let pages = try NodeProgram.start(
            ["together", service.url + "/feed/", service.feedKey] + secrets)
        #expect(await pages.exit() == 0, "\(pages.output)")
        let shown = pages.output.split(separator: "\n").sorted()
        #expect(shown == ["secret 0", "secret 1", "secret 2"])
    }

    @Test("an open page hears of a broadcast by the event stream, and looks at once")
    func stream() async throws {
        let service = try await ServiceUnderTest()
        let secret = TestDevice().pushText
        let page = try NodeProgram.start(
            ["run", service.url + "/feed/", service.feedKey, service.url, secret])
        _ = try await page.line(containing: "upToDate")
        _ = try await service.publish([secret], notes: [], "--again", "--then-broadcast")
        _ = try await page.line(containing: "shown secret 0")
        #expect(await page.exit() == 0)
        #expect(page.output.hasSuffix("unused\n"), "\(page.output)")
    }

    /// A host of a service's feed that keeps what it was asked.
    private static func host(
        of service: ServiceUnderTest, asked: Observed<[String]>
    ) throws -> WireServer {
        let files = service.directory.path + "/service"
        return try WireServer { peer in
            while let request = WireRequest(from: peer) {
                asked.update { $0.append(request.head) }
                let bytes = FileManager.default.contents(atPath: files + request.path) ?? Data()
                let status = bytes.isEmpty ? "404 Not Found" : "200 OK"
                let head = "HTTP/1.1 \(status)\r\nContent-Length: \(bytes.count)\r\n\r\n"
                guard (try? peer.send(Array(head.utf8) + bytes)) != nil else { return }
            }
        }
    }

    /// One cycle against a feed alone.
    private static func cycle(
        _ url: String, _ service: ServiceUnderTest, _ secrets: [String]
    ) async throws -> String {
        let directory = try TemporaryDirectory()
        let program = try NodeProgram.start(
            [
                "cycle", url, service.feedKey, "-", directory.path + "/state",
                directory.path + "/shown",
            ] + secrets)
        #expect(await program.exit() == 0, "\(program.output)")
        return program.output
    }

    @Test("on the line a client with matches is one without: requests, their order and fields")
    func line() async throws {
        let service = try await ServiceUnderTest()
        let secret = TestDevice().pushText
        for note in ["first", "second"] {
            _ = try await service.publish([secret], notes: [note], "--again")
        }
        let asked = Observed<[String]>([])
        let host = try Self.host(of: service, asked: asked)
        defer { host.refuse() }
        var seen: [[String]] = []
        // The last one is too short to be a secret.
        for (secrets, matches) in [
            ([secret], "2 "), ([TestDevice().pushText], "0 "), (["00"], "0 unusableSecrets"),
        ] {
            asked.update { $0 = [] }
            let said = try await Self.cycle(host.url + "/feed/", service, secrets)
            #expect(said.contains("ended checked - \(matches)\n"), "\(said)")
            seen.append(asked.value)
        }
        #expect(seen[0] == seen[1] && seen[0] == seen[2])
        let paths = seen[0].map { $0.split(separator: " ")[1] }
        #expect(paths.prefix(2) == ["/feed/head", "/feed/keys"] && paths.count == 4, "\(paths)")
    }

    @Test("what a host should not do is refused, and named")
    func hostile() async throws {
        let service = try await ServiceUnderTest()
        let other = try Self.host(of: service, asked: Observed([]))
        let answer = Observed("")
        let host = try WireServer { peer in
            guard WireRequest(from: peer) != nil else { return }
            _ = try? peer.send(answer.value)
        }
        defer {
            other.refuse()
            host.refuse()
        }
        let page = String(repeating: "WAKEHD02", count: 2000)
        for (said, failure) in [
            (
                "302 Found\r\nLocation: \(other.url)/feed/head\r\nContent-Length: 0\r\n\r\n",
                "unreachable"
            ),
            ("200 OK\r\nContent-Length: 16000\r\n\r\n\(page)", "tooLarge"),
            ("200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n\(page)", "tooLarge"),
            ("200 OK\r\nContent-Length: 6\r\n\r\n<html>", "badSignature"),
            ("206 Partial Content\r\nContent-Length: 0\r\n\r\n", "status 206"),
            ("nonsense\r\n\r\n", "unreachable"),
        ] {
            answer.update { $0 = "HTTP/1.1 " + said }
            let end = try await Self.cycle(host.url + "/feed/", service, [])
            #expect(end.contains("ended failed \(failure) 0"), "\(end)")
        }
    }

    @Test("it unregisters, and what it says for support has no token, address or secret")
    func diagnostics() async throws {
        let service = try await ServiceUnderTest(
            sections: "\n[webpush]\nkey = keys/vapid.key\nhosts = any\n")
        let app = App(
            service: service, directory: try TemporaryDirectory(), secrets: [TestDevice().pushText])
        let first = try app.start(["endpoint=https://push.example.org/a"])
        #expect(await first.exit() == 0)
        #expect(try service.rows() == 1)
        let text = first.output
        #expect(text.contains("ended upToDate - 0") && text.contains("registration: registered"))
        let state = try String(contentsOfFile: app.directory.path + "/state", encoding: .utf8)
        let token = try #require(state.firstMatch(of: /"token":"([0-9a-f]{64})"/)).1
        for hidden in ["push.example.org", "127.0.0.1", String(token), app.secrets[0]] {
            #expect(!text.contains(hidden), "\(hidden)")
        }
        let last = try app.start(["unregister"])
        #expect(await last.exit() == 0)
        #expect(last.output.contains("registration: none"), "\(last.output)")
        #expect(try service.rows() == 0)
    }
}
