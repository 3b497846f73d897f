import Foundation
import TestSupport
import Testing

@Suite("A service that watches a feed elsewhere", .timeLimit(.minutes(5)))
struct RemoteWatchTests {
    private static let secret = String(repeating: "5a", count: 16)

    private func watcher(of site: ServiceUnderTest, key: String) async throws -> ServiceUnderTest {
        try await ServiceUnderTest(
            sections: """

                [broadcast]
                watch = \(site.url)/feed
                watch-key = \(key)

                """)
    }

    /// A service with a feed that has something in it.
    private func site() async throws -> ServiceUnderTest {
        let site = try await ServiceUnderTest()
        _ = try await site.publish([Self.secret], notes: ["a note"])
        return site
    }

    @Test("it tells its own event streams when the feed has something new")
    func watches() async throws {
        let site = try await site()
        let watcher = try await watcher(of: site, key: site.feedKey)
        // Nothing is wrong before the first look either.
        let (status, text) = try await watcher.command("status")
        #expect(status == 0 && !text.contains("expired") && !text.contains("problem"), "\(text)")
        let line = try await watcher.program.line(containing: "broadcast-started")
        #expect(line.contains("sequence=1 ") && line.contains("reasons=watched"))
        #expect(!watcher.program.output.contains(" error "), "\(watcher.program.output)")
    }

    @Test("it believes nothing that is not signed with the feed's key")
    func signature() async throws {
        let site = try await site()
        // The key of another feed.
        let other = try await ServiceUnderTest()
        let watcher = try await watcher(of: site, key: other.feedKey)
        _ = try await watcher.program.line(containing: "feed-unreadable")
        #expect(!watcher.program.output.contains("broadcast-started"))
    }

    @Test("a key or an address that is none is named at the start")
    func mistakes() async throws {
        let service = try await ServiceUnderTest()
        #expect(await service.stop() == 0)
        let path = service.configuration
        let good = try String(contentsOfFile: path, encoding: .utf8)
        for (lines, words) in [
            ("watch = https://feed.example.org/\nwatch-key = short", "watch-key"),
            ("watch = https://\nwatch-key = \(service.feedKey)", "not an address"),
        ] {
            try (good + "\n[broadcast]\n\(lines)\n").write(
                toFile: path, atomically: true, encoding: .utf8)
            for command in ["serve", "check"] {
                let (status, output) = try await service.command(command)
                #expect(status == 78 && output.contains(words), "\(output)")
            }
        }
    }
}
