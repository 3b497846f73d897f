import Foundation
import TestSupport
import Testing
import WakeSystem

@Suite("Profiles of one user", .timeLimit(.minutes(5)))
struct ProfileTests {
    private final class Home: Sendable {
        let directory: TemporaryDirectory
        var state: String { directory.path + "/state/reveille" }
        var cache: String { directory.path + "/cache/reveille" }

        init() throws { directory = try TemporaryDirectory() }

        var environment: [String: String] {
            [
                "HOME": directory.path, "XDG_STATE_HOME": directory.path + "/state",
                "XDG_CACHE_HOME": directory.path + "/cache",
            ]
        }

        func command(_ words: String..., input: [UInt8] = []) async throws -> (
            status: Int32, output: String
        ) {
            try await RunningProgram.run(
                "reveille-client", words, input: input, environment: environment)
        }

        func start(_ words: String...) throws -> RunningProgram {
            try RunningProgram("reveille-client", words, environment: environment)
        }

        /// Every file and directory below a directory; nothing when it is not there.
        func names(_ path: String) -> [String] {
            ((try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? []).sorted()
        }

        /// The instance token, as it lies in the state.
        func token(_ profile: String) throws -> [UInt8] {
            let database = try Database(
                path: "\(state)/\(profile)/client.db", access: .readWrite)
            let row = try database.prepare(
                "SELECT substr(secret, 1, 32) FROM state WHERE key='registration'")
            guard try row.step() else { throw TestFailure("no registration") }
            defer { row.reset() }
            return row.blob(0)
        }
    }

    private func make(
        _ name: String, in home: Home, of service: ServiceUnderTest
    ) async throws -> String {
        let made = try await home.command(
            "init", "--profile", name, "--feed", service.url + "/feed/", "--key", service.feedKey,
            "--service", service.url)
        #expect(made.status == 0, "\(made.output)")
        let secret = TestDevice().pushText
        let added = try await home.command(
            "secrets", "add", "mine", "--profile", name, input: Array(secret.utf8))
        #expect(added.status == 0, "\(added.output)")
        return secret
    }

    @Test("they share no file, token, lock or match")
    func apart() async throws {
        let service = try await ServiceUnderTest()
        let home = try Home()
        #expect(try await home.command("profiles").output == "")
        let secret = try await make("one", in: home, of: service)
        _ = try await make("two", in: home, of: service)
        #expect(try await home.command("profiles").output == "one\ntwo\n")
        #expect(
            try await home.command("profiles", "--json").output
                == "{\"profiles\":[\"one\",\"two\"]}\n")
        for name in ["one", "two"] {
            let registered = try await home.command(
                "register", "apns", "--profile", name, input: Array(TestDevice().pushText.utf8))
            #expect(registered.status == 0, "\(registered.output)")
        }
        let tokens = [try home.token("one"), try home.token("two")]
        #expect(tokens[0].count == 32 && tokens[0] != tokens[1])
        _ = try await service.publish([secret], notes: [])
        // Both at once: each has a lock of its own. A match of one is none of the other.
        let one = try home.start("run", "--profile", "one")
        _ = try await one.line(containing: "match ")
        #expect(try await home.command("sync", "--profile", "one").status == 75)
        #expect(try await home.command("sync", "--profile", "two").status == 0)
        one.signal(SIGTERM)
        #expect(await one.exit() == 0)
        #expect(
            Set(try FileManager.default.contentsOfDirectory(atPath: home.state))
                == ["one", "two"])
        for (name, token) in zip(["one", "two"], tokens) {
            let other = name == "one" ? "two" : "one"
            for path in home.names("\(home.state)/\(other)") {
                let bytes = FileManager.default.contents(atPath: "\(home.state)/\(other)/\(path)")
                #expect(bytes?.range(of: Data(token)) == nil, "\(path)")
            }
            #expect(home.names("\(home.cache)/\(name)").contains { $0.contains("/0000") })
        }
    }

    @Test("forget leaves no file of the profile, and the other untouched")
    func forget() async throws {
        let service = try await ServiceUnderTest()
        let home = try Home()
        let secret = try await make("one", in: home, of: service)
        _ = try await make("two", in: home, of: service)
        _ = try await service.publish([secret], notes: [])
        #expect(try await home.command("sync", "--profile", "two").status == 0)
        let two = home.names(home.state + "/two")
        let token = Array(TestDevice().pushText.utf8)
        #expect(
            try await home.command("register", "apns", "--profile", "one", input: token).status
                == 0)
        // With everything that a life leaves behind.
        let run = try home.start("run", "--verbose", "--profile", "one")
        _ = try await run.line(containing: "match ")
        run.signal(SIGKILL)
        _ = await run.exit()
        for name in ["evidence-7-known-head", "client.db.damaged-1", "secrets/.generation.tmp"] {
            try "x".write(
                toFile: "\(home.state)/one/\(name)", atomically: true, encoding: .utf8)
        }
        #expect(home.names(home.state + "/one").contains("control"))
        #expect(!home.names(home.cache + "/one").isEmpty)
        #expect(try await home.command("forget", "--profile", "one").status == 1)
        #expect(try await home.command("unregister", "--profile", "one").status == 0)
        let forgotten = try await home.command("forget", "--profile", "one")
        #expect(forgotten.status == 0, "\(forgotten.output)")
        #expect(!FileManager.default.fileExists(atPath: home.state + "/one"))
        #expect(!FileManager.default.fileExists(atPath: home.cache + "/one"))
        #expect(home.names(home.state + "/two") == two)
        #expect(try await home.command("profiles").output == "two\n")
        #expect(try await home.command("sync", "--profile", "two").status == 0)
    }

    @Test("a state of another version is forgotten by force alone, a damaged one without")
    func unreadable() async throws {
        let service = try await ServiceUnderTest()
        let home = try Home()
        let secret = try await make("newer", in: home, of: service)
        _ = try await make("damaged", in: home, of: service)
        _ = try await service.publish([secret], notes: [])
        for name in ["newer", "damaged"] {
            _ = try await home.command("sync", "--profile", name)
        }
        do {
            let path = home.state + "/newer/client.db"
            try Database(path: path, access: .readWrite).execute("PRAGMA user_version=99")
        }
        try Data(repeating: 7, count: 30_000).write(
            to: URL(filePath: home.state + "/damaged/client.db"))
        let refused = try await home.command("forget", "--profile", "newer")
        #expect(refused.status == 74 && refused.output.contains("another version"))
        let forced = try await home.command("forget", "--force", "--profile", "newer")
        #expect(forced.status == 0, "\(forced.output)")
        let forgotten = try await home.command("forget", "--profile", "damaged")
        #expect(forgotten.status == 0, "\(forgotten.output)")
        for name in ["newer", "damaged"] {
            #expect(!FileManager.default.fileExists(atPath: home.state + "/" + name))
            #expect(!FileManager.default.fileExists(atPath: home.cache + "/" + name))
        }
    }

    @Test("forget leaves what is the user's own, and nothing else")
    func own() async throws {
        let service = try await ServiceUnderTest()
        let home = try Home()
        _ = try await make("default", in: home, of: service)
        #expect(try await home.command("sync").status == 0)
        let own = ["my notes.txt", "secrets/my key!"]
        for name in own {
            try "mine".write(
                toFile: "\(home.state)/default/\(name)", atomically: true, encoding: .utf8)
        }
        #expect(try await home.command("forget").status == 0)
        #expect(home.names(home.state + "/default") == (own + ["secrets"]).sorted())
    }

    @Test("status has the members that scripts read, for every profile")
    func status() async throws {
        let service = try await ServiceUnderTest()
        let home = try Home()
        _ = try await make("default", in: home, of: service)
        #expect(try await home.command("sync").status == 0)
        let answer = try await home.command("status", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(answer.output.utf8))
        let members = try #require(object as? [String: Any])
        #expect(
            members.keys.sorted() == [
                "batchesWaiting", "checkFailure", "checkFailureDetail", "delivered", "failure",
                "failureDetail", "fingerprint", "firstUnchecked", "forked", "formerServices",
                "lastChecked", "lastUnchecked", "lastVerified", "matchesToDeliver", "nextCheck",
                "pausedUntil", "process", "registration", "retired", "running", "runningSince",
                "sequence", "sharesOrigin", "stream", "streamCutSeconds", "streamStatus",
                "waitingUntil",
            ])
        #expect(members["registration"] as? String == "none")
        #expect(members["running"] as? Bool == false)
        #expect((members["lastVerified"] as? Int ?? 0) > 1_700_000_000)
        #expect(members["failure"] is NSNull && members["waitingUntil"] is NSNull)
        let text = try await home.command("status").output
        for line in ["client          not running", "registration    nothing is registered"] {
            #expect(text.contains(line), "\(text)")
        }
        #expect(try await home.command("statsu").output.contains("did you mean status?"))
    }

    @Test("options may stand before and in a command's name, and what was meant is said")
    func words() async throws {
        let service = try await ServiceUnderTest()
        let home = try Home()
        _ = try await make("work", in: home, of: service)
        for words in [
            ["secrets", "--profile", "work", "list"], ["--profile=work", "secrets", "list"],
            ["secrets", "list", "--profile", "work"],
        ] {
            let answer = try await RunningProgram.run(
                "reveille-client", words, environment: home.environment)
            #expect(answer.status == 0 && answer.output == "mine\n", "\(words): \(answer.output)")
        }
        let typed = try await home.command("sync", "--profile", "wrok")
        #expect(typed.status == 78 && typed.output.contains("those there are: work"))
        for (word, meant) in [("rm", "remove"), ("delete", "remove"), ("ls", "list")] {
            let answer = try await home.command("secrets", word, "mine")
            #expect(answer.status == 2)
            #expect(answer.output.contains("did you mean secrets \(meant)?"), "\(answer.output)")
        }
    }
}
