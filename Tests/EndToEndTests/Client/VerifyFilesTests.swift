import Foundation
import TestSupport
import Testing
import WakeFeed
import WakePublish
import WakeSystem

/// `reveille-client verify`, as people use it on what they carried home on a stick.
@Suite("Verifying downloaded files", .timeLimit(.minutes(5)))
struct VerifyFilesTests {
    private func verify(_ words: String...) async throws -> (status: Int32, output: String) {
        try await RunningProgram.run("reveille-client", ["verify"] + words)
    }

    private func site(batches: Int = 3) async throws -> FeedSite {
        let site = try await FeedSite()
        for _ in 0..<batches { try await site.publish() }
        return site
    }

    private func lines(_ output: String) -> [String] {
        output.split(separator: "\n").map(String.init)
    }

    @Test("a whole feed is right, without profile or network, as a directory and file by file")
    func right() async throws {
        let site = try await site()
        let whole = try await verify(site.feed, "--key", site.key)
        #expect(whole.status == 0)
        #expect(lines(whole.output).count == 5)
        #expect(whole.output.contains("/keys: ok, 1 key, \(site.key)"))
        #expect(whole.output.contains("/head: ok, head, 3 batches, fingerprint 3 "))
        #expect(whole.output.contains(", in the log, entry 3 of 4\n"))
        for number in 1...3 { #expect(whole.output.contains("ok, batch \(number), 1024 digests")) }
        let flat = try await verify(site.feed + "/b", "--key", site.key)
        #expect(flat.status == 0 && lines(flat.output).count == 3)
        let head = try await verify("--key", site.key, "--", site.feed + "/head")
        #expect(head.status == 0 && lines(head.output).count == 1)
        #expect(site.requests.isEmpty)
    }

    @Test("a profile's key is taken unless another is given")
    func profile() async throws {
        let site = try await site(batches: 1)
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        let right = try await client.command("verify", site.feed)
        #expect(right.status == 0)
        let other = try await FeedSite()
        let wrong = try await client.command("verify", site.feed, "--key", other.key)
        #expect(wrong.status == 65)
        #expect(wrong.output.contains("BAD, it is not signed with this feed's key"))
        // The batches that the client keeps lie in one folder.
        #expect(try await client.command("sync").status == 0)
        let cache = client.state + "/cache"
        let kept = try FileManager.default.contentsOfDirectory(atPath: cache)
        let folder = cache + "/" + (kept.first ?? "")
        let mine = try await client.command("verify", folder)
        #expect(mine.status == 0 && lines(mine.output).count == 1)
        #expect(site.requests.count == 3, "those of sync")
    }

    @Test("heads and proofs under a policy of witnesses: of the command line, or of the profile")
    func witnessed() async throws {
        let feed = try await WitnessedFeed(witnesses: 2, quorum: 2)
        let site = feed.site
        try await feed.publish()
        let words = ["verify", site.feed, "--key", site.key, "--witnesses", feed.policy]
        func judged(_ words: [String]) async throws -> (status: Int32, output: String) {
            try await RunningProgram.run("reveille-client", words)
        }
        let right = try await judged(words)
        #expect(right.status == 0, "\(right.output)")
        #expect(
            right.output.contains(
                ", in the log, entry 1 of 2, cosigned by 2 of the policy's witnesses\n"))
        #expect(site.requests.isEmpty)
        // The head alone is signed, and believed by nobody with this policy.
        let place = try TemporaryDirectory()
        let bare = try FeedDirectory(site.feed).servedHead().head
        try Data(bare).write(to: URL(filePath: place.path + "/head"))
        let head = [place.path + "/head", "--key", site.key, "--witnesses", feed.policy]
        let alone = try await judged(["verify"] + head)
        #expect(alone.status == 65)
        #expect(alone.output.contains("BAD, no proof shows that the feed's log"))
        // A head that nobody cosigned.
        try await feed.publish(witnessed: false)
        let json = try await judged(words + ["--json"])
        #expect(json.status == 65)
        let report = try JSONDecoder().decode(Report.self, from: Data(json.output.utf8))
        let reasons = report.files.compactMap(\.reason).sorted()
        #expect(reasons == ["no-quorum"], "\(json.output)")
        // A profile with witnesses, which has accepted the log of before.
        try await feed.publish()
        let client = try await ClientUnderTest(
            feed: site.url, key: site.key, "--witnesses", feed.policy)
        #expect(try await client.command("sync").status == 0)
        #expect(try await client.command("verify", site.feed).status == 0)
        let twin = try site.copy()
        try await feed.publish()
        #expect(try await client.command("sync").status == 0)
        #expect(try await client.command("verify", twin.path + "/feed").status == 0)
        for _ in 0..<2 { try await feed.publish(in: twin.path + "/feed", witnessed: false) }
        let other = try await client.command("verify", twin.path + "/feed")
        #expect(other.status == 65 && other.output.contains("BAD, "), "\(other.output)")
        // Without the policy what is left is that its log contradicts the one that was accepted.
        let open = feed.policy + ".open"
        try "quorum none\n".write(toFile: open, atomically: true, encoding: .utf8)
        let fork = try await client.command("verify", twin.path + "/feed", "--witnesses", open)
        #expect(fork.status == 65 && fork.output.contains("some client sees another feed"))
        let broken = try await client.command("verify", site.feed, "--witnesses", site.keyFile)
        #expect(broken.status == 78 && broken.output.contains("line 1"), "\(broken.output)")
    }

    @Test("what cannot be read ends with 74, and with 65 when something else is bad")
    func unreadable() async throws {
        let site = try await site(batches: 1)
        let missing = site.feed + "/missing"
        let absent = try await verify(missing, site.feed + "/head", "--key", site.key)
        #expect(absent.status == 74)
        #expect(absent.output.contains("/missing: unreadable, No such file or directory"))
        #expect(absent.output.contains("/head: ok"))
        let zero = try await verify("/dev/zero", missing, "--key", site.key)
        #expect(zero.status == 74)
        let place = try TemporaryDirectory()
        let text = try TemporaryDirectory()
        try "no file of a feed\n".write(
            toFile: text.path + "/text", atomically: true, encoding: .utf8)
        let both = try await verify(missing, text.path + "/text", "--key", site.key)
        #expect(both.status == 65)
        #expect(try await verify(place.path, "--key", site.key).status == 74)
    }

    @Test("a name that a terminal would obey is printed harmlessly, and whole as JSON")
    func names() async throws {
        let site = try await site(batches: 1)
        let place = try TemporaryDirectory()
        let path = place.path + "/\u{1B}[2J\n\"ok"
        try Data(site.head).write(to: URL(filePath: path))
        let answer = try await verify(path, "--key", site.key)
        #expect(answer.status == 0 && lines(answer.output).count == 1)
        #expect(!answer.output.contains("\u{1B}"))
        let json = try await verify(path, "--json", "--key", site.key)
        let report = try JSONDecoder().decode(Report.self, from: Data(json.output.utf8))
        #expect(report.files.map(\.path) == [path])
    }

    @Test("wrong words end with 2 and say what is missing")
    func usage() async throws {
        let site = try await site(batches: 1)
        #expect(try await verify().status == 2)
        #expect(try await verify(site.feed, "--key", "short").status == 2)
    }

    @Test("a file of any length takes no memory with its length")
    func bounded() async throws {
        let site = try await site(batches: 1)
        let place = try TemporaryDirectory()
        let path = place.path + "/huge"
        let batch = try site.newestBatch()
        try Data(batch).write(to: URL(filePath: path))
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        // A hole: no disk is filled.
        try file.truncate(atOffset: 1 << 40)
        try file.close()
        let answer = try await verify(path, "--key", site.key)
        #expect(answer.status == 65)
        #expect(answer.output.contains("BAD, it is longer than it may be"))
    }

    private struct Report: Decodable {
        struct File: Decodable {
            let path: String
            let result: String
            let reason: String?
        }

        let files: [File]
        let ok: Int
        let bad: Int
        let unreadable: Int
    }
}
