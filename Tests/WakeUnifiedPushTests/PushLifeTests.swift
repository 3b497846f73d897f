import Foundation
import TestSupport
import Testing

@Suite(
    "The client's life with a distributor",
    .enabled(if: PushedWorld.isPossible, PushedWorld.needs), .timeLimit(.minutes(5)))
struct PushLifeTests {
    @Test("a thousand pushes at once are at most two cycles, and one that comes later is one more")
    func flood() async throws {
        let world = try await PushedWorld()
        let distributor = try await DistributorUnderTest(on: world.bus)
        try world.choose()
        let client = try world.run()
        try await world.looked()
        try await world.puts(atLeast: 1)
        let before = world.heads
        let start = ContinuousClock.now
        let told = try await distributor.tell(
            "{'do': 'message', 'size': 8, 'count': 1000, 'id': 'n'}")
        let taken = told.components(separatedBy: "'id'").count - 1
        // What the bus could not keep was said to be so, and was not a push less: those before it
        // were a wake as well.
        let refused = told.components(separatedBy: "LimitsExceeded").count - 1
        #expect(taken + refused == 1000 && taken > 0)
        // Two within a second; the peer may need longer than that.
        let bound = 2 + Int((ContinuousClock.now - start).components.seconds)
        // The answer is there: it cannot be of what is published now.
        while world.answeredHeads <= before {
            try Task.checkCancellation()
            await Task.yield()
        }
        // One more, for what is published now.
        let secret = try await world.client.addSecret("visit")
        let publish = try RunningProgram(
            "reveille",
            ["feed", "publish", "-", "--secrets", "--config", world.service.configuration],
            input: Array(secret.utf8))
        #expect(await publish.exit() == 0)
        try await distributor.tell("{'do': 'message', 'size': 1}")
        _ = try await client.line(containing: "match ")
        await world.stop(client)
        // And one that finds nothing is followed by another, once caches have expired.
        let heads = world.heads - before
        #expect((2...bound + 2).contains(heads), "\(heads) heads")
    }

    @Test(
        "a bus that dies leaves the client living, and a new one is joined with the same endpoint")
    func busDies() async throws {
        let world = try await PushedWorld(channel: "stream")
        let distributor = try await DistributorUnderTest(on: world.bus)
        try world.choose()
        let client = try world.run()
        try await world.puts(atLeast: 1)
        _ = try await client.line(containing: "the distributor brings pushes")
        world.bus.kill()
        _ = try await client.line(containing: "no session bus, retry in")
        await distributor.kill()
        // Nothing was unregistered, and the stream still tells of news.
        let secret = try await world.client.addSecret("visit")
        let publish = try RunningProgram(
            "reveille",
            [
                "feed", "publish", "-", "--secrets", "--config", world.service.configuration,
                "--then-broadcast",
            ], input: Array(secret.utf8))
        _ = await publish.exit()
        _ = try await client.line(containing: "match ")
        // The bus comes back where it was, and the distributor with it.
        let again = try world.bus.again()
        _ = try await again.line(containing: "unix:path=")
        let returned = try await DistributorUnderTest(on: world.bus)
        try await returned.registrations(atLeast: 1)
        #expect(
            try await returned.tell("{'do': 'message', 'size': 1, 'id': 'n'}") == "[{'id': 'n'}]")
        await world.stop(client)
        #expect(world.puts.count == 1 && !world.front.requests.contains { $0.method == "DELETE" })
    }

    @Test("without any session bus the client lives by polling, and push status says so")
    func noBus() async throws {
        let world = try await PushedWorld()
        try world.choose()
        world.bus.kill()
        let client = try world.run()
        _ = try await client.line(containing: "no session bus, retry in")
        try await world.looked()
        let status = try await world.command("push", "status", "--json")
        #expect(status.status == 0)
        #expect(
            status.output.contains(#""presence":"unknown","connected":null"#), "\(status.output)")
        let words = try await world.command("push", "status")
        #expect(words.output.contains("there is no session bus here"))
        let list = try await world.list()
        #expect(list.status == 75 && list.output.contains("there is no session bus"))
        await world.stop(client)
    }

    @Test("a distributor that wants its user is told of as a warning")
    func warned() async throws {
        let world = try await PushedWorld()
        let distributor = try await DistributorUnderTest(on: world.bus)
        try await distributor.tell("{'do': 'mode', 'register': 'ACTION_REQUIRED'}")
        try world.choose()
        let client = try world.run()
        _ = try await client.line(containing: "warning: no pushes come: the distributor wants")
        await world.stop(client)
        #expect(world.puts.isEmpty)
    }
}
