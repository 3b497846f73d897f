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
                feed          is running

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
        #expect(paused.output.contains("clients ignore wake-ups until "))
        #expect(try await client.command("sync").status == 0)
        #expect(try await client.command("status").output.contains("paused by the publisher"))
        #expect(try await service.command("feed", "directives", "--resume").status == 0)
        #expect(try await client.command("sync").status == 0)
        #expect(try await !client.command("status").output.contains("paused by the publisher"))

        let asked = try await service.command("feed", "directives", "--retire")
        #expect(asked.status == 1 && asked.output.contains("about 1 registrations"))
        #expect(asked.output.contains("add --yes"))
        #expect(try await service.command("feed", "directives").output.contains("is running"))
        let done = try await service.command("feed", "directives", "--retire", "--yes")
        #expect(done.status == 0, "\(done.output)")
        try await syncUntilDue(client, telling: "the feed has ended")
        #expect(try await client.command("unregister").status == 0)
        #expect(try service.rows() == 0)
    }

    @Test("a pause is seen wherever the operator looks, and no broadcast is sent in vain")
    func pauseIsSeen() async throws {
        let service = try await ServiceUnderTest()
        func page() throws -> String { try service.send("GET", "/").text }
        func status() async throws -> String { try await service.command("status").output }
        let mark = "ignore wake-ups until "
        #expect(try await !status().contains(mark) && !page().contains(mark))
        let paused = try await service.command("feed", "directives", "--pause", "3600")
        let end = try ServiceUnderTest.word(after: mark, in: paused.output)
        // Also while the head is of the next minute.
        for _ in 0..<2 {
            let output = try await status()
            #expect(output.contains("\(mark)\(end)") && output.contains("--resume"), "\(output)")
            #expect(!output.contains("no head") && output.contains("signed 0:00:"), "\(output)")
            #expect(try page().contains("\(mark)\(end)"))
            let check = try await service.command("check")
            #expect(check.status == 0 && check.output.contains("warning: clients \(mark)\(end)"))
            let refused = try await service.command("broadcast")
            #expect(refused.status == 1 && refused.output.contains("nothing was sent"))
            #expect(refused.output.contains("`reveille feed directives --resume`"))
            let forced = try await service.command("broadcast", "--force", "--no-wait")
            #expect(forced.status == 0 && forced.output.contains("warning: clients \(mark)\(end)"))
            // Signed again it does not begin again.
            #expect(try await service.command("feed", "refresh", "--cover").status == 0)
        }
        #expect(try await service.command("feed", "directives", "--resume").status == 0)
        #expect(try await !status().contains(mark) && !page().contains(mark))
        #expect(try await service.command("broadcast", "--no-wait").status == 0)
    }

    @Test(
        "a head that has expired, or is to come, is said in words, and by the status",
        .enabled(if: FakeTime.isInstalled, "needs faketime"))
    func verifiedLater() async throws {
        let site = try await FeedSite()
        for (offset, words) in [("+8d", "the head expired on "), ("-8d", "which is to come")] {
            let answer = try await FakeTime.service(
                offset, "feed", "verify", "--feed", site.feed, "--key", site.keyFile)
            #expect(answer.status == 1 && answer.output.contains(words), "\(answer.output)")
            #expect(answer.output.contains("\nhint: ") && !answer.output.contains("("))
        }
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
