import Foundation
import TestSupport
import Testing

@Suite("What standard output did not take was not told", .timeLimit(.minutes(5)))
struct OutputTests {
    private func place() async throws -> (ServiceUnderTest, ClientUnderTest) {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        for name in ["one", "two", "three"] {
            _ = try await service.publish([try await client.addSecret(name)], notes: [name])
        }
        return (service, client)
    }

    @Test("killed at random points of a look as JSON, every match is in some answer")
    func killed() async throws {
        let (service, template) = try await place()
        defer { withExtendedLifetime(service) {} }
        var window = KillWindow()
        var round = 0
        while window.isOpen(round, rounds: 25, kills: 6) {
            try Task.checkCancellation()
            defer { round += 1 }
            let client = try template.copy()
            var look: RunningProgram?
            _ = try await window.kill {
                let program = try client.start("sync", "--json")
                look = program
                return program
            }
            // An answer that was cut is one that nobody can read.
            let first = look?.output ?? ""
            var answers = first.hasSuffix("\n") ? first : ""
            answers += try await client.command("sync", "--json").output
            for name in ["one", "two", "three"] {
                #expect(answers.contains("\"secret\":\"\(name)\""), "round \(round)")
            }
            #expect(try await client.status("matchesToDeliver") == "0", "round \(round)")
        }
    }

    @Test("secrets of which one is refused are none of them added")
    func secretsAsOne() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        let input = TestDevice().pushText + "\nshort\n"
        let added = try await client.command(
            "secrets", "add", "mine", input: Array(input.utf8))
        #expect(added.status == 65 && added.output.contains("line 2: "))
        #expect(try await client.command("secrets", "list").output == "")
    }
}
