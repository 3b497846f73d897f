import Foundation
import TestSupport
import Testing
import WakeSystem

/// What a web server between publisher and client may do for long; every other lie is refused in
/// `HostileFeedTests`.
@Suite("A feed from a web server that lies", .timeLimit(.minutes(5)))
struct HostileSiteTests {
    @Test("an older head than one seen before is refused, and the newest taken again")
    func rollback() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try await site.publish()
        let old = site.head
        try await site.publish()
        #expect(try await client.command("sync").status == 0)
        site.answerHead(.bytes(old))
        let answer = try await client.command("sync", "--json")
        #expect(answer.status == 75 && answer.output.contains("\"failure\":\"rollback\""))
        #expect(try await client.status("sequence") == "2")
        site.answer { _ in .file }
        #expect(try await client.command("sync").status == 0)
    }

    @Test("two histories under one number stop the cursor for good, with evidence kept")
    func fork() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try await site.publish()
        let fork = try site.copy()
        try await site.publish()
        #expect(try await client.command("sync").status == 0)
        let first = try site.copy()
        try site.replace(with: fork)
        try await site.publish()
        let answer = try await client.command("sync", "--json")
        #expect(answer.status == 65 && answer.output.contains("\"failure\":\"fork\""))
        #expect(try await client.status("forked") == "true")
        #expect(try await client.status("sequence") == "2")
        let evidence = try client.files().keys.filter { $0.contains("evidence") }
        #expect(evidence.count == 2)
        // Nothing that this publisher signs is believed any more.
        try site.replace(with: first)
        #expect(try await client.command("sync").status == 65)
    }
}
