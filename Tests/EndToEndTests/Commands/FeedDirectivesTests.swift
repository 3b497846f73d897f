import Foundation
import TestSupport
import Testing

@Suite("Directives of the publisher in the signed head", .timeLimit(.minutes(5)))
struct FeedDirectivesTests {
    /// Checks, and ends the program while the registration that is due waits for its time.
    private func syncUntilDue(_ client: ClientUnderTest, telling: String...) async throws {
        let sync = try client.start("sync")
        for text in ["a registration is due, and follows within 10 minutes"] + telling {
            _ = try await sync.line(containing: text)
        }
        sync.signal(SIGTERM)
        _ = await sync.exit()
    }

    @Test("registrations are switched off and on again, and a feed that ends is given up")
    func directives() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        #expect(
            try await service.command("feed", "directives").output == """
                wake-ups      heeded
                registration  on
                feed          goes on

                """)
        #expect(
            try await service.command("feed", "directives", "--registration", "off").status == 0)
        #expect(try await client.command("sync").status == 0)
        let token = Array(TestDevice().pushText.utf8)
        #expect(
            try await client.command("register", "apns", input: token).output
                == "registered once the publisher allows it again\n")
        #expect(try service.rows() == 0)

        // Within the same minute: the newer directive counts all the same.
        #expect(try await service.command("feed", "directives", "--registration", "on").status == 0)
        // What a feed allows to all, or ends for all, follows apart from the check, at random in
        // ten minutes, which no test waits for (SeparationTests do, on a clock of their own).
        try await syncUntilDue(client)
        // Somebody who asks again is not kept waiting.
        #expect(try await client.command("register", "apns", input: token).status == 0)
        #expect(try service.rows() == 1)

        let paused = try await service.command("feed", "directives", "--pause", "7200")
        #expect(paused.output.contains("ignored for 7200 s"))
        #expect(try await client.command("sync").status == 0)
        #expect(try await client.command("status").output.contains("paused by the publisher"))
        #expect(try await service.command("feed", "directives", "--resume").status == 0)
        #expect(try await client.command("sync").status == 0)
        #expect(try await !client.command("status").output.contains("paused by the publisher"))

        let asked = try await service.command("feed", "directives", "--retire")
        #expect(asked.status == 1 && asked.output.contains("about 1 registrations"))
        #expect(asked.output.contains("add --yes"))
        #expect(try await service.command("feed", "directives").output.contains("goes on"))
        let done = try await service.command("feed", "directives", "--retire", "--yes")
        #expect(done.status == 0, "\(done.output)")
        try await syncUntilDue(client, telling: "the feed has ended")
        #expect(try await client.command("unregister").status == 0)
        #expect(try service.rows() == 0)
    }

    @Test(
        "an impossible directive is refused with a message, and nothing is signed",
        arguments: [
            ["--pause", "259201"], ["--pause", "0"], ["--registration", "maybe"],
            ["--resume", "--retire"],
        ])
    func refused(_ words: [String]) async throws {
        let site = try await FeedSite()
        let head = try Data(contentsOf: URL(fileURLWithPath: site.feed + "/head"))
        let (status, output) = try await RunningProgram.run(
            "reveille",
            ["feed", "directives", "--feed", site.feed, "--key", site.keyFile] + words)
        #expect(status == 2 && output.hasPrefix("reveille: "))
        #expect(try Data(contentsOf: URL(fileURLWithPath: site.feed + "/head")) == head)
    }
}
