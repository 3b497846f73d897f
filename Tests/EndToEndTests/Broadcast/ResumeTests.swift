import Foundation
import TestSupport
import Testing

@Suite("A batch that is continued, over real sockets", .timeLimit(.minutes(5)))
struct ResumeTests {
    private static let mark = 65_536
    /// The secrets of others, a line each.
    private static let others = (0..<2000).map { _ in TestDevice().pushText }
        .joined(separator: "\n")

    /// A client with a secret, and a site with a batch of 500 KiB, mostly notes, that holds it.
    private func place() async throws -> (FeedSite, ClientUnderTest, batch: [UInt8]) {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        let secret = try await client.addSecret("visit")
        try await site.publish(secret + "\n" + Self.others, note: "see you")
        return (site, client, try site.newestBatch())
    }

    private func batches(_ site: FeedSite) -> [WireRequest] {
        site.requests.filter { $0.path.hasPrefix("/b/") }
    }

    private func first(_ request: WireRequest) -> Int {
        request["Range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
    }

    /// Breaks the batch off after so many bytes, once.
    private func cut(
        _ site: FeedSite, _ client: ClientUnderTest, _ batch: [UInt8], at count: Int
    ) async throws {
        site.answerBatches(.part(batch, cutAfter: count))
        let answer = try await client.command("sync", "--json")
        #expect(answer.status == 75 && answer.output.contains("\"failure\":\"truncated\""))
        #expect(try await client.status("sequence") == "0")
    }

    @Test("broken off again and again, it is whole in the end, and no mark is fetched twice")
    func manyTimes() async throws {
        let (site, client, batch) = try await place()
        #expect(batch.count > 7 * Self.mark)
        site.answerBatches(.part(batch, cutAfter: Self.mark + 5000))
        var status: Int32 = 75
        var looks = 0
        while status == 75 {
            status = try await client.command("sync").status
            looks += 1
        }
        #expect(status == 10)
        #expect(looks == batch.count / Self.mark + (batch.count % Self.mark > 5000 ? 1 : 0))
        let starts = batches(site).map(first)
        #expect(starts == (0..<looks).map { $0 * Self.mark }, "\(starts)")
        #expect(batches(site).allSatisfy { $0["If-Range"] == nil && $0["Cache-Control"] == nil })
    }

    @Test("a server that ignores Range is read from the start")
    func ignored() async throws {
        let (site, client, batch) = try await place()
        try await cut(site, client, batch, at: 200_000)
        site.answer { _ in .file }
        #expect(try await client.command("sync").status == 10)
        #expect(batches(site).map(first) == [0, 3 * Self.mark])
    }

    @Test("a part that begins elsewhere is refused, and asked for from the start next time")
    func elsewhere() async throws {
        for offered in [0, 1, Self.mark, 3 * Self.mark - 1] {
            let (site, client, batch) = try await place()
            try await cut(site, client, batch, at: 200_000)
            let rest = Array(batch[offered...])
            let head =
                "HTTP/1.1 206 Part\r\nContent-Range: bytes \(offered)-\(batch.count - 1)/"
                + "\(batch.count)\r\nContent-Length: \(rest.count)\r\n\r\n"
            site.answerBatches(.wire(Array(head.utf8) + rest, ends: false))
            let answer = try await client.command("sync", "--json")
            #expect(answer.status == 65, "\(answer.output)")
            #expect(answer.output.contains("\"failure\":\"protocol-violation\""))
            #expect(try await client.status("sequence") == "0")
            site.answerBatches(.part(batch, cutAfter: nil))
            #expect(try await client.command("sync").status == 10)
            #expect(batches(site).last?["Range"] == nil, "\(offered)")
        }
    }

    @Test("416 drops what was kept, and the next look begins anew")
    func nothingThere() async throws {
        let (site, client, batch) = try await place()
        try await cut(site, client, batch, at: 200_000)
        site.answerBatches(.part([], cutAfter: nil))
        let answer = try await client.command("sync", "--json")
        #expect(answer.status == 65, "\(answer.output)")
        #expect(answer.output.contains("\"failure\":\"http-status\""))
        site.answerBatches(.part(batch, cutAfter: nil))
        #expect(try await client.command("sync").status == 10)
        #expect(batches(site).map(first) == [0, 3 * Self.mark, 0])
    }

    @Test("a rest that does not belong to its beginning is fetched once more as a whole")
    func corruptRest() async throws {
        let (site, client, batch) = try await place()
        try await cut(site, client, batch, at: 200_000)
        site.answerRequests { request in
            guard request.path != "/head" else { return .file }
            var bytes = batch
            // Whoever asks past the caches gets the whole truth.
            if request["Cache-Control"] == nil { bytes[bytes.count - 5] ^= 1 }
            return .part(bytes, cutAfter: nil)
        }
        #expect(try await client.command("sync").status == 10)
        let last = batches(site).suffix(2)
        #expect(last.map(first) == [3 * Self.mark, 0])
        #expect(last.map { $0["Cache-Control"] } == [nil, "no-cache"])
    }

    @Test("a beginning that was damaged on the disk is noticed and not built upon")
    func corruptPart() async throws {
        let (site, client, batch) = try await place()
        try await cut(site, client, batch, at: 200_000)
        let name = try #require(try client.files().keys.first { $0.hasSuffix(".part") })
        let file = try FileHandle(forUpdating: URL(filePath: client.directory.path + "/" + name))
        try file.seek(toOffset: 70_000)
        try file.write(contentsOf: Data([1, 2, 3, 4]))
        try file.close()
        site.answerBatches(.part(batch, cutAfter: nil))
        #expect(try await client.command("sync").status == 10)
        #expect(try await client.status("sequence") == "1")
    }

    @Test("with a day's budget it comes over days, and status and sync say until when")
    func metered() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(
            feed: site.url, key: site.key, "--daily-bytes", "262144")
        let secret = try await client.addSecret("visit")
        try await site.publish(secret + "\n" + Self.others, note: "see you")
        site.answerBatches(.part(try site.newestBatch(), cutAfter: nil))
        let first = try await client.command("sync", "--json")
        #expect(first.status == 0)
        #expect(first.output.contains("\"outcome\":\"metered\""), "\(first.output)")
        #expect(first.output.contains("\"batchesWaiting\":1,\"waitingUntil\":"))
        let second = try await client.command("sync")
        #expect(second.status == 0)
        #expect(second.output.contains("1 batch waits until 2"), "\(second.output)")
        #expect(second.output.contains(" 00:00 UTC: the day's bytes are used up"))
        #expect(try await client.status("batchesWaiting") == "1")
        #expect(try await client.command("status").output.contains("waiting         1 batch"))
        #expect(batches(site).count == 1)
        guard FakeTime.isInstalled else { return }
        var days = 0
        var status: Int32 = 0
        while status == 0 {
            days += 1
            status = try await FakeTime.run(client, "+\(days)d", "sync").status
        }
        #expect(status == 10 && days == 2)
        #expect(try await client.status("batchesWaiting") == "0")
    }
}
