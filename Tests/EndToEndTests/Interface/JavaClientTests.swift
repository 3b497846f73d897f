import Foundation
import TestSupport
import Testing
import WakeFeed

@Suite(
    "The client for Android, as an app has it",
    .enabled(if: JavaProgram.isInstalled, "no javac (Debian: default-jdk-headless)"),
    .timeLimit(.minutes(10)))
struct JavaClientTests {
    /// An app whose process ends after each command.
    private struct App {
        let program: JavaProgram
        let directory = try? TemporaryDirectory()
        let feed: String
        let key: String
        let secret = TestDevice().pushText

        init(of site: FeedSite) async throws {
            program = try await JavaProgram(drivenBy: "ClientCycles")
            (feed, key) = (site.url, site.key)
        }

        /// Nothing listens there, and nothing is registered.
        var place: [String] {
            [(directory?.path ?? "") + "/state", "https://wake.example.org", feed, key]
        }

        func start(_ words: String...) throws -> RunningProgram {
            try program.start(["cycle"] + place + words + [secret])
        }

        /// - Returns: the lines that it says, but the first.
        func cycle(_ words: String...) async throws -> [String] {
            let app = try program.start(["cycle"] + place + words + [secret])
            #expect(await app.exit() == 0, "\(app.output)")
            return app.output.split(separator: "\n").dropFirst().map(String.init)
        }

        func diagnostics() async throws -> String {
            let app = try program.start(["status"] + place)
            #expect(await app.exit() == 0)
            return app.output
        }
    }

    private static let done = "failure null, 0 unchecked, []"

    @Test("under a policy of witnesses it believes what they have cosigned, and nothing else")
    func witnesses() async throws {
        let feed = try await WitnessedFeed(witnesses: 3, quorum: 2)
        let app = try await App(of: feed.site)
        let words = ["--policy", feed.policy]
        let fresh = try await app.cycle(words[0], words[1])
        #expect(fresh == ["failure proof(noQuorum), 0 unchecked, []"])
        try await feed.publish(app.secret)
        let first = try await app.cycle(words[0], words[1])
        #expect(first.count == 2 && first.last == Self.done, "\(first)")
        let copy = try feed.site.copy()
        try await feed.publish(app.secret + "00", witnessed: false)
        let alone = try await app.cycle(words[0], words[1])
        #expect(alone == ["failure proof(noQuorum), 0 unchecked, []"])
        // Without a policy the same head counts.
        #expect(try await App(of: feed.site).cycle().last == Self.done)
        // The log continues from the entry that no witness has seen.
        try await feed.publish()
        #expect(try await app.cycle(words[0], words[1]) == [Self.done])
        try feed.site.replace(with: copy)
        let older = try await app.cycle(words[0], words[1])
        #expect(older == ["failure rollback, 0 unchecked, []"])
    }

    @Test("a kill at any moment of a check loses no match, and makes none of one two")
    func kills() async throws {
        let site = try await FeedSite()
        let app = try await App(of: site)
        var random = SplitMix64(seed: 38)
        for batch in 0..<3 {
            try await site.publish(app.secret, note: "note \(batch)")
            for _ in 0..<3 { try await site.publish() }
            for _ in 0..<6 {
                let killed = try app.start("--keep")
                _ = try await killed.line(containing: "began")
                let delay = Int.random(in: 900...1700, using: &random)
                killed.signal(SIGKILL, after: .milliseconds(delay))
                _ = await killed.exit()
            }
            let lines = try await app.cycle("--keep")
            let ids = lines.dropLast().map { $0.split(separator: " ")[1] }
            #expect(lines.last == Self.done, "\(lines)")
            #expect(ids.count == batch + 1 && Set(ids).count == ids.count, "\(lines)")
        }
        // Acknowledged once, gone for good, however often it is published.
        #expect(try await app.cycle().count == 4)
        try await site.publish(app.secret, note: "note 1")
        #expect(try await app.cycle() == [Self.done])
    }

    @Test("its requests are those of reveille-client, in their order, and none names a device")
    func line() async throws {
        let site = try await FeedSite()
        let app = try await App(of: site)
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        for _ in 0..<2 {
            for _ in 0..<3 { try await site.publish() }
            let start = site.requests.count
            #expect(try await client.command("sync").status == 0)
            let middle = site.requests.count
            let check = try app.start()
            _ = try await check.line(containing: "began")
            let begin = ContinuousClock.now
            #expect(await check.exit() == 0)
            // The first after a second, each of the others at a step of its own.
            let steps = Double(site.requests.count - middle - 1)
            #expect(.now - begin > .seconds(0.95 + steps * 0.08))
            let (theirs, own) = (site.requests[start..<middle], site.requests[middle...])
            #expect(theirs.map(\.path) == own.map(\.path) && own.count >= 4)
            let fingerprint = try await client.status("fingerprint").filter { $0 != "\"" }
            #expect(try await app.diagnostics().contains("feed: \(fingerprint)\n"))
            for request in own {
                let port = request["Host"] ?? ""
                let fields = request.head.split(separator: "\r\n").dropFirst().sorted()
                #expect(
                    fields == [
                        "Accept-Encoding: identity", "Accept: */*", "Connection: close",
                        "Host: \(port)", "User-Agent: Reveille",
                    ])
                #expect(request.method == "GET" && request.body.isEmpty)
                #expect(theirs.first?["User-Agent"] == request["User-Agent"])
            }
        }
    }

    @Test("a registration and its erasure have one size, and no field but what the protocol needs")
    func registrationLine() async throws {
        let seen = Observed<[WireRequest]>([])
        let server = try WireServer { peer in
            while let request = WireRequest(from: peer) {
                seen.update { $0.append(request) }
                let status = request.method == "POST" ? "202 Accepted" : "204 No Content"
                try? peer.send("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let program = try await JavaProgram(drivenBy: "ClientCycles")
        let directory = try TemporaryDirectory()
        let site = try await FeedSite()
        let place = [directory.path + "/state", server.url, site.url, site.key]
        let endpoint = "https://push.example.org/a"
        for words in [
            ["push"] + place, ["register"] + place + [endpoint], ["push"] + place,
            ["unregister"] + place,
        ] {
            let app = try program.start(words, language: "ar-EG")
            #expect(await app.exit() == 0, "\(app.output)")
        }
        let requests = seen.value
        #expect(requests.map(\.method) == ["PUT", "POST", "DELETE"])
        let sizes = requests.map { $0.head.utf8.count + $0.body.count }
        #expect(Set(sizes).count == 1, "\(sizes)")
        let names = requests.map { request in
            request.head.split(separator: "\r\n").dropFirst().map { $0.prefix { $0 != ":" } }
        }
        let common = ["Accept", "Accept-Encoding", "Authorization", "Connection"]
        let body = ["Content-Length", "Content-Type", "Host"]
        #expect(
            names.map { $0.map(String.init).sorted() } == [
                common + body + ["User-Agent"], common + body + ["Padding", "User-Agent"],
                common + ["Host", "Padding", "User-Agent"],
            ])
        server.refuse()
    }

    @Test("no TLS session is resumed, and no certificate of a stranger is taken")
    func tls() async throws {
        let site = try await FeedSite()
        let app = try await App(of: site)
        try await site.publish(app.secret)
        let authority = try TestAuthority()
        let issued = try authority.issue(for: "localhost")
        let host = try RunningProgram(
            path: "/usr/bin/env",
            [
                "python3", "-B", Repository.absolute("Tests/LibraryUse/tls-site.py"), site.feed,
                issued.certificate, issued.key,
            ])
        let port = try await host.line(containing: "port ").split(separator: " ")[1]
        let directory = try TemporaryDirectory()
        let store = directory.path + "/trusted"
        let made = try await RunningProgram.run(
            path: InstalledPrograms.path("keytool") ?? "keytool",
            [
                "-importcert", "-noprompt", "-alias", "a", "-file", authority.certificate,
                "-keystore", store, "-storepass", "changeit",
            ])
        #expect(made.status == 0, "\(made.output)")
        let words = ["cycle", directory.path + "/state", "https://wake.example.org"]
        let trusted = ["Store=" + store, "StorePassword=changeit"].map {
            "-Djavax.net.ssl.trust" + $0
        }
        for (name, properties, failure) in [
            ("localhost", [], "tls"), ("127.0.0.1", trusted, "tls"),
            ("localhost", trusted, "null"),
        ] {
            let check = try app.program.start(
                words + ["https://\(name):\(port)", site.key, app.secret], properties: properties)
            #expect(await check.exit() == 0)
            #expect(check.output.contains("failure \(failure), 0 unchecked"), "\(check.output)")
        }
        #expect(host.output.split(separator: "\n").dropFirst() == ["new", "new", "new"])
    }

    @Test("a host that says nothing, too much, or a byte at a time ends a check, and harms nothing")
    func hostile() async throws {
        let site = try await FeedSite()
        let app = try await App(of: site)
        try await site.publish(app.secret)
        let head = site.head
        let page = Array("HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n<html>".utf8)
        let answers: [(FeedSite.Answer, String)] = [
            (.wire([], ends: false), "timeout"),
            (.wire(Array("HTTP/1.1 200 OK\r\nX: ".utf8), ends: false), "timeout"),
            (.wire(page, ends: false), "timeout"),
            (.endless(declared: nil, after: head), "tooLarge"),
            (.endless(declared: 1 << 40, after: head), "tooLarge"),
            (.declared(head.count + 100, head), "network"),
            (
                .wire(Array("HTTP/1.1 302 Found\r\nLocation: /head\r\n\r\n".utf8), ends: true),
                "httpStatus 302"
            ),
            (.bytes(Array("<html>Welcome</html>".utf8)), "badSignature"),
            (.bytes(Array(head.prefix(200))), "truncated"),
        ]
        for (answer, failure) in answers {
            site.answerHead(answer)
            let lines = try await app.cycle("--window", "400")
            #expect(lines == ["failure \(failure), 0 unchecked, []"], "\(answer)")
        }
        site.answerHead(.file)
        site.answerBatches(.endless(declared: nil, after: []))
        let endless = try await app.cycle("--window", "400")
        #expect(endless == ["failure badSignature, 1 unchecked, []"])
        site.answerBatches(.wire(page, ends: false))
        #expect(try await app.cycle("--window", "400") == ["failure timeout, 1 unchecked, []"])
        // Damaged on the way once: it is asked for past the caches.
        let batch = try site.newestBatch()
        site.answerRequests { request in
            let isDamaged = request.path.hasPrefix("/b/") && request["Cache-Control"] == nil
            return isDamaged ? .bytes(batch.dropLast() + [batch[batch.count - 1] ^ 1]) : .file
        }
        let found = try await app.cycle()
        #expect(found.count == 2 && found.last == Self.done, "\(found)")
        let text = try await app.diagnostics()
        #expect(text.contains("batches: 1 checked, 0 to be checked") && !text.contains("127.0"))
    }

    @Test("a cookie is not sent, and a fault of the app is no loss of the network")
    func faults() async throws {
        let site = try await FeedSite()
        let app = try await App(of: site)
        let words = ["cycle"] + app.place + [app.secret]
        let cookie = try app.program.start(words, properties: ["-Dcookies=one"])
        #expect(await cookie.exit() == 0)
        #expect(cookie.output.contains("failure cookie, 0 unchecked"), "\(cookie.output)")
        let fault = try app.program.start(words, properties: ["-Dcookies=fault"])
        #expect(await fault.exit() != 0)
        #expect(fault.output.contains("a fault of the app"), "\(fault.output)")
        #expect(try await app.diagnostics().contains("last check: fault\n"))
        #expect(site.requests.isEmpty)
        // Two objects would undo what the other one has written.
        let first = try app.start()
        _ = try await first.line(containing: "began")
        let second = try app.program.start(["status"] + app.place)
        #expect(await second.exit() != 0 && second.output.contains("another WakeClient"))
        #expect(await first.exit() == 0 && first.output.contains(Self.done), "\(first.output)")
        try Data(repeating: 7, count: 100).write(to: URL(filePath: app.place[0] + "/state"))
        let damaged = try app.program.start(["status"] + app.place)
        #expect(await damaged.exit() != 0 && damaged.output.contains("not sealed with this key"))
    }

    @Test("secrets that cannot be read: it asks for what every client asks for, and comes again")
    func locked() async throws {
        let site = try await FeedSite()
        let app = try await App(of: site)
        try await site.publish(app.secret)
        let locked = try app.program.start(["cycle"] + app.place)
        #expect(await locked.exit() == 0)
        #expect(locked.output.contains("failure secrets, 1 unchecked"), "\(locked.output)")
        #expect(site.requests.contains { $0.path.hasPrefix("/b/") })
        #expect(try await app.cycle().count == 2)
    }

    @Test("a policy is read as the client for Linux reads it, fault by fault")
    func policies() async throws {
        let witness = "w.example+c0ffee00+BAAA"
        let feed = try await WitnessedFeed(witnesses: 2, quorum: 1)
        let good = try String(contentsOfFile: feed.policy, encoding: .utf8)
        var texts = [
            "", "quorum none", "quorum none\n", "# ü\n\tquorum\tnone \nquorum none\n", good,
            good + good, "group g any w0\nquorum g", "witness w \(witness)\nquorum w\n",
            "quorum none\r\n", "vote none\n", "log a b c\n", "quorum a b\n", "log x+y+z\n",
            "group g\n",
        ]
        let changes: [(String, String)] = [
            ("quorum all", "quorum w9"), ("quorum all", "group h any none\nquorum h"),
            ("group all 1", "group all 3"), ("group all 1", "group all 01"),
            ("group all 1", "group none 1"), ("group all 1", "group all all"),
            ("w0 w1\n", "w0 w0\n"), ("witness w1", "witness w0"), ("witness w1", "witness none"),
        ]
        texts += changes.map { good.replacingOccurrences(of: $0, with: $1) }
        for place in 0..<40 {
            // A character less, at each of some places.
            var cut = good
            cut.remove(at: cut.index(cut.startIndex, offsetBy: cut.count * place / 40))
            texts.append(cut)
        }
        let directory = try TemporaryDirectory()
        var expected: [String] = []
        for (number, text) in texts.enumerated() {
            try Data(text.utf8).write(to: URL(filePath: directory.path + "/\(number)"))
            do throws(WitnessPolicyError) {
                _ = try WitnessPolicy(Array(text.utf8))
                expected.append("ok")
            } catch { expected.append(error.message) }
        }
        let program = try await JavaProgram(drivenBy: "ClientCycles")
        let app = try program.start(
            ["policies"] + texts.indices.map { directory.path + "/\($0)" })
        #expect(await app.exit() == 0)
        #expect(app.output.split(separator: "\n").map(String.init) == expected)
        #expect(Set(expected).count > 10)
    }
}
