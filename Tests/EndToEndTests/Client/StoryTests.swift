import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

/// The main job with the programs that ship: register, publish, wake, fetch, check, tell, forget.
@Suite("The whole way with the built programs", .timeLimit(.minutes(5)))
struct StoryTests {
    @Test("a listening client is told of both its matches, with notes, when they are published")
    func told() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let reports = try MatchReports(in: client.directory)
        let visit = try await client.addSecret("visit")
        let trip = try await client.addSecret("trip")
        let listening = try await client.listen("--on-match", reports.program)
        _ = try await service.publish(
            [TestDevice().pushText, visit, trip], notes: ["no one's", "get tested", "stay home"],
            "--then-broadcast")
        // The spread is 0 by default, and without the stream it would look after hours: nothing but
        // work lies between.
        let told = try await reports.atLeast(2)
        let notes = Dictionary(uniqueKeysWithValues: told.map { ($0.secret, $0.note) })
        #expect(notes == ["visit": "get tested", "trip": "stay home"])
        #expect(Set(told.map(\.id)).count == 2)
        try await client.settled()
        listening.signal(SIGTERM)
        #expect(await listening.exit() == 0)
        // Told once is told: nothing is left for the next look.
        #expect(try await client.command("sync").status == 0)
        #expect(reports.all.count == 2)
    }

    @Test("what a device registers it can see, and after unregistering no file holds a byte of it")
    func forgotten() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let device = TestDevice()
        #expect(try await client.register(device) == 0)
        let listening = try await client.listen()
        let instance = try #require(front.instanceToken)
        let stored = try await client.command("stored", "--json")
        #expect(stored.status == 0 && stored.output.contains(device.pushText))
        let answer = try service.send("GET", "/v1/registration", token: instance.text)
        let row = try #require(try RegistrationResponse.decode(answer.body).stored)
        // The controls: the searches do find what is there.
        #expect(try service.files(containing: [row.id]) != [])
        #expect(try service.files(containing: [row.sealed]) != [])
        #expect(try client.files(containing: [instance.bytes]) != [])
        #expect(try service.rows() == 1)

        let unregistered = try await client.command("unregister")
        #expect(unregistered.status == 0 && unregistered.output.hasPrefix("unregistered: "))
        let traces = device.forms + instance.forms + [row.id, row.sealed]
        #expect(try service.files(containing: traces) == [])
        #expect(try service.rows() == 0)
        // The one that runs may not have put its log away yet; ended, it has.
        listening.signal(SIGTERM)
        #expect(await listening.exit() == 0)
        #expect(try client.files(containing: device.forms + instance.forms) == [])
        #expect(try await client.command("stored").status == 1)
    }

    @Test("a client that listens, fetches and is told leaves the service's store byte-identical")
    func anonymous() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let reports = try MatchReports(in: client.directory)
        let secret = try await client.addSecret("visit")
        let before = try service.files().filter { $0.key.hasPrefix("data/gen") }
        #expect(!before.isEmpty)
        let listening = try await client.listen("--on-match", reports.program)
        _ = try await service.publish([secret], notes: [], "--then-broadcast")
        #expect(try await reports.atLeast(1).map(\.secret) == ["visit"])
        try await client.settled()
        listening.signal(SIGTERM)
        #expect(await listening.exit() == 0)
        #expect(try await client.command("sync").status == 0)
        let after = try service.files().filter { $0.key.hasPrefix("data/gen") }
        #expect(before == after)
        #expect(try service.rows() == 0)
    }

    @Test("a secret added later is checked against the past while the service is gone")
    func later() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let secret = TestDevice().pushText
        _ = try await service.publish([secret], notes: ["long ago"])
        #expect(try await client.command("sync").status == 0)
        #expect(await service.stop() == 0)
        let added = try await client.command("secrets", "add", "old", input: Array(secret.utf8))
        #expect(added.status == 0)
        let reports = try MatchReports(in: client.directory)
        let program = try client.start("run", "--on-match", reports.program)
        #expect(try await reports.atLeast(1).map(\.note) == ["long ago"])
        program.signal(SIGTERM)
        #expect(await program.exit() == 0)
    }

    @Test("sync says by its exit status what happened")
    func exitStatuses() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let secret = try await client.addSecret("visit")
        #expect(try await client.command("sync").status == 0)
        _ = try await service.publish([secret], notes: [])
        let match = try await client.command("sync", "--json")
        #expect(match.status == 10 && match.output.contains("\"secret\":\"visit\""))
        #expect(try await client.command("sync").status == 0)

        let other = try await RunningProgram.run(
            "reveille", ["feed", "init", client.directory.path + "/feed"])
        let key = try ServiceUnderTest.word(after: "feed key: ", in: other.output)
        let stranger = try await ClientUnderTest(feed: service.url + "/feed/", key: key)
        let bad = try await stranger.command("sync", "--json")
        #expect(bad.status == 65 && bad.output.contains("\"failure\":\"wrong-feed\""))

        #expect(await service.stop() == 0)
        let offline = try await client.command("sync", "--json")
        #expect(offline.status == 75 && offline.output.contains("\"failure\":\"network\""))

        #expect(try await client.command("sync", "--no-such-option").status == 2)
        let nowhere = try await RunningProgram.run(
            "reveille-client", ["sync", "--state", client.directory.path + "/nowhere"])
        #expect(nowhere.status == 78)
        let malformed = try await RunningProgram.run(
            "reveille-client",
            [
                "init", "--feed", "http://not-loopback.example/", "--key", key, "--state",
                client.directory.path + "/other",
            ])
        #expect(malformed.status == 78)
    }
}
