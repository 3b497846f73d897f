import Foundation
import TestSupport
import Testing
import WakeSystem

/// What a web server between publisher and client may do: each has its exit status, none moves the
/// cursor, and the next honest answer is taken.
@Suite("A feed from a web server that lies", .timeLimit(.minutes(5)))
struct HostileSiteTests {
    struct Lie: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int32
        let code: String
        let tell: @Sendable (FeedSite) async throws -> Void
    }

    static let lies: [Lie] = [
        Lie(testDescription: "a head of 1,000 bytes", status: 75, code: "truncated") {
            $0.answerHead(.bytes(Array($0.head.prefix(1000))))
        },
        Lie(testDescription: "a head that breaks off", status: 75, code: "truncated") {
            $0.answerHead(.declared(4096, Array($0.head.prefix(4095))))
        },
        Lie(testDescription: "a head longer than heads are", status: 65, code: "too-large") {
            $0.answerHead(.bytes($0.head + [0]))
        },
        Lie(testDescription: "a head said to have 10 GB", status: 65, code: "too-large") {
            $0.answerHead(.endless(declared: 10_000_000_000, after: $0.head))
        },
        Lie(testDescription: "a head without an end", status: 65, code: "too-large") {
            $0.answerHead(.endless(declared: nil, after: $0.head))
        },
        Lie(testDescription: "a head of another key", status: 65, code: "bad-signature") {
            let other = try await FeedSite()
            try await other.publish()
            $0.answerHead(.bytes(other.head))
        },
        Lie(testDescription: "a captive portal's page", status: 65, code: "bad-signature") {
            let page = Array("<html>log in</html>".utf8)
            $0.answerHead(.bytes(page + Array(repeating: 0x20, count: 4096 - page.count)))
        },
        Lie(testDescription: "a head with one bit flipped", status: 65, code: "bad-signature") {
            var head = $0.head
            head[Int.random(in: head.indices)] ^= 1 << UInt8.random(in: 0..<8)
            $0.answerHead(.bytes(head))
        },
        Lie(testDescription: "a batch that breaks off", status: 75, code: "truncated") {
            let batch = try $0.newestBatch()
            $0.answerBatches(.declared(batch.count, Array(batch.dropLast())))
        },
        Lie(testDescription: "a batch shorter than its header says", status: 75, code: "truncated")
        {
            $0.answerBatches(.bytes(Array(try $0.newestBatch().prefix(5000))))
        },
        Lie(testDescription: "a batch with a flipped bit", status: 65, code: "corrupt-batch") {
            var batch = try $0.newestBatch()
            batch[Int.random(in: 256..<batch.count)] ^= 1
            $0.answerBatches(.bytes(batch))
        },
        Lie(testDescription: "a batch without an end", status: 65, code: "too-large") {
            $0.answerBatches(.endless(declared: nil, after: try $0.newestBatch()))
        },
        Lie(testDescription: "a batch said to have 10 GB", status: 65, code: "too-large") {
            let batch = try $0.newestBatch()
            $0.answerBatches(.endless(declared: 10_000_000_000, after: batch))
        },
    ]

    @Test("is refused by exit status and code, the cursor unmoved", arguments: lies)
    func refused(_ lie: Lie) async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        let secret = try await client.addSecret("visit")
        try await site.publish()
        #expect(try await client.command("sync").status == 0)
        try await site.publish(secret)
        try await lie.tell(site)
        let answer = try await client.command("sync", "--json")
        #expect(answer.status == lie.status, "\(answer.output)")
        #expect(answer.output.contains("\"failure\":\"\(lie.code)\""), "\(answer.output)")
        #expect(answer.output.contains("\"matches\":[]"))
        #expect(try await client.status("sequence") == "1")
        // The next honest answer is taken, with the match.
        site.answer { _ in .file }
        #expect(try await client.command("sync").status == 10)
        #expect(try await client.status("sequence") == "2")
    }

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

    @Test(
        "bodies without an end cost a running client less than 64 MiB at its peak",
        arguments: [true, false])
    func memory(isHead: Bool) async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try await site.publish()
        if isHead {
            site.answerHead(.endless(declared: nil, after: []))
        } else {
            site.answerBatches(.endless(declared: nil, after: try site.newestBatch()))
        }
        let program = try client.start("run", "--verbose")
        _ = try await program.line(containing: "cycle failed: too-large")
        let peak = try #require(ProcessMemory.peakBytes(of: program.identifier))
        #expect(peak > 1 << 20 && peak < 64 << 20, "\(peak) bytes")
        program.signal(SIGTERM)
        #expect(await program.exit() == 0)
        #expect(try await client.status("sequence") == "0")
    }

    @Test("a damaged batch is fetched once more past all caches, and then left")
    func refetch() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try await site.publish()
        var batch = try site.newestBatch()
        batch[300] ^= 1
        site.answerBatches(.bytes(batch))
        #expect(try await client.command("sync").status == 65)
        let batches = site.requests.filter { $0.path.hasPrefix("/b/") }
        #expect(batches.map { $0["Cache-Control"] } == [nil, "no-cache"])
    }
}
