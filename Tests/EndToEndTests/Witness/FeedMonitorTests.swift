import Foundation
import TestSupport
import Testing
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

/// `reveille feed monitor`, as a third party runs it, before publishers who have the real key.
@Suite("A monitor of a feed's log, and publishers who lie", .timeLimit(.minutes(10)))
struct FeedMonitorTests {
    /// A monitor with a file of its own.
    private struct Monitor {
        let feed: WitnessedFeed
        let directory: TemporaryDirectory
        var file: String { directory.path + "/log" }

        init(_ feed: WitnessedFeed) throws {
            self.feed = feed
            directory = try TemporaryDirectory()
        }

        var words: [String] {
            [
                "feed", "monitor", feed.site.url, "--key", feed.site.key, "--policy", feed.policy,
                "--since", file,
            ]
        }

        /// One visit: its status, and the codes of what it found.
        func visit(_ more: String...) async throws -> (status: Int32, codes: [String]) {
            let answer = try await RunningProgram.run("reveille", words + ["--json"] + more)
            guard let line = answer.output.split(separator: "\n").last(where: { $0.first == "{" }),
                let report = try? JSONDecoder().decode(Report.self, from: Data(line.utf8))
            else { return (answer.status, [answer.output]) }
            return (answer.status, report.findings.map(\.code))
        }

        func kept() throws -> [UInt8] { try Files.read(file, limit: 1 << 20) }
    }

    private struct Report: Decodable {
        struct Finding: Decodable { let code: String }
        let findings: [Finding]
    }

    @Test("an honest feed has nothing odd, visit after visit, with witnesses and without")
    func healthy() async throws {
        let feed = try await WitnessedFeed(witnesses: 2, quorum: 2)
        let monitor = try Monitor(feed)
        for _ in 0..<3 {
            try await feed.publish()
            #expect(try await feed.feed("refresh").status == 0)
            let visit = try await monitor.visit()
            #expect(visit.status == 0 && visit.codes.isEmpty, "\(visit)")
        }
        let again = try await RunningProgram.run("reveille", monitor.words)
        #expect(again.output.contains("7 heads in the log, 0 of them new; 0 findings"))
        let alone = try await RunningProgram.run(
            "reveille", ["feed", "monitor", feed.site.url + "/", "--key", feed.site.key])
        #expect(alone.status == 0, "\(alone.output)")
        // What was retired is a matter for the user, each time, until it is known.
        #expect(try await feed.feed("directives", "--retire", "--yes").status == 0)
        for _ in 0..<2 {
            let visit = try await monitor.visit()
            #expect(visit.status == 3 && visit.codes == ["retired"], "\(visit)")
        }
        #expect(try await monitor.visit("--accept").status == 3)
        #expect(try await monitor.visit().status == 0)
    }

    @Test("a log of its own for a victim is another history: named, proven, and never taken over")
    func victim() async throws {
        let feed = try await WitnessedFeed()
        let monitor = try Monitor(feed)
        try await feed.publish()
        let copy = try feed.site.copy()
        let twin = copy.path + "/feed"
        try await feed.publish()
        #expect(try await monitor.visit().status == 0)
        let before = try monitor.kept()
        // With the real key, and without the witness, which would answer 422.
        let refused = try await feed.feed("refresh", in: twin)
        #expect(refused.status == 65 && refused.output.contains("ANOTHER HISTORY"))
        for _ in 0..<3 { try await feed.publish(in: twin, witnessed: false) }
        // A head for the monitor alone, beside the true log.
        let head = try Files.read(twin + "/head", limit: 4096)
        feed.site.answerHead(.bytes(head))
        let shown = try await monitor.visit()
        #expect(shown.status == 3 && shown.codes.contains("unlogged-head"), "\(shown)")
        let unlogged = try Files.read(monitor.file + ".evidence-head", limit: 8192)
        #expect(try unlogged == FeedHead.split(head).head)
        // The whole of the other feed.
        try feed.site.replace(with: copy)
        feed.site.answer { _ in .file }
        for _ in 0..<2 {
            let visit = try await monitor.visit()
            #expect(visit.status == 3 && visit.codes.contains("other-history"), "\(visit)")
            #expect(try await monitor.visit("--accept").status == 3)
        }
        #expect(try monitor.kept() == before)
        let evidence = String(
            decoding: try Files.read(monitor.file + ".evidence", limit: 1 << 16), as: UTF8.self)
        let served = try Files.read(feed.site.feed + "/checkpoint", limit: 8192)
        #expect(evidence.hasSuffix("\n\n" + String(decoding: served, as: UTF8.self)))
        #expect(evidence.split(separator: "\n").count { $0.hasPrefix("\u{2014}") } == 3)
        // A monitor that comes to the victim's feed first has no quorum there.
        let other = try await Monitor(feed).visit()
        #expect(other.status == 3 && other.codes == ["no-quorum"], "\(other)")
    }

    @Test("what is logged for one person is named, however long the visits are apart")
    func logged() async throws {
        let feed = try await WitnessedFeed()
        let monitor = try Monitor(feed)
        try await feed.publish()
        let twin = try feed.site.copy()
        try await feed.publish()
        #expect(try await monitor.visit().status == 0)
        // The other batch 2, which the log is to have as well: then witnesses cosign it.
        try await feed.publish(in: twin.path + "/feed", witnessed: false)
        let key = try FeedKeyFile.load(feed.site.keyFile)
        let directory = FeedDirectory(feed.site.feed)
        let honest = try directory.servedHead().head
        let service = HeadService(
            directory: directory, key: key, witnesses: nil, observer: { _ in })
        let served = try #require(try directory.checkpoint()).checkpoint
        let origin = try #require(NoteKeyName(served.origin))
        let other = try FeedDirectory(twin.path + "/feed").servedHead().head
        for head in [other, honest] {
            try service.publish(head, in: try FeedLog(directory, new: origin))
        }
        // Everybody is shown the true feed again, which the witness cosigns with that in its log.
        try await feed.publish()
        func found(_ more: String...) async throws -> [String] {
            let visit = try await more.isEmpty ? monitor.visit() : monitor.visit("--accept")
            #expect(visit.status == 3)
            // Unless both were signed in one minute.
            return visit.codes.filter { $0 != "time-went-back" }
        }
        for _ in 0..<2 { #expect(try await found() == ["fork"]) }
        try await feed.publish()
        #expect(try await found() == ["fork"])
        #expect(try await found("--accept") == ["fork"])
        #expect(try await monitor.visit().status == 0)
    }

    @Test("a smaller log, a batch that is withheld, a checkpoint of nobody: each by its name")
    func broken() async throws {
        let feed = try await WitnessedFeed()
        let monitor = try Monitor(feed)
        try await feed.publish()
        let old = try feed.site.copy()
        try await feed.publish()
        #expect(try await monitor.visit().status == 0)
        let before = try monitor.kept()
        feed.site.answer { $0.hasPrefix("b/00000000000000000002") ? .bytes([]) : .file }
        #expect(try await monitor.visit().codes == ["missing-batch"])
        let note = try Files.read(feed.site.feed + "/checkpoint", limit: 8192)
        var other = note
        // Another character of base64: a changed bit gives one that is none, now and then.
        let place = other.count - 8
        other[place] = UInt8(ascii: other[place] == UInt8(ascii: "A") ? "B" : "A")
        feed.site.answer { [other] in $0 == "checkpoint" ? .bytes(other) : .file }
        let changed = try await monitor.visit()
        #expect(changed.status == 3 && changed.codes == ["bad-signature"], "\(changed)")
        // Signed by the feed alone, as by a publisher who asks nobody.
        let end = note.indices.dropLast().last { note[$0] == 0x0A } ?? 0
        feed.site.answer { [note] in $0 == "checkpoint" ? .bytes(Array(note[...end])) : .file }
        #expect(try await monitor.visit().codes == ["no-quorum"])
        for bytes in [[], Array("no checkpoint\n".utf8), [UInt8](repeating: 0x41, count: 9000)] {
            feed.site.answer { $0 == "checkpoint" ? .bytes(bytes) : .file }
            #expect(try await monitor.visit().status == 65)
        }
        feed.site.answer { $0.hasPrefix("tile/entries") ? .bytes([0, 0]) : .file }
        #expect(try await Monitor(feed).visit().status == 65)
        feed.site.answer { _ in .file }
        #expect(try await monitor.visit().status == 0)
        try feed.site.replace(with: old)
        let smaller = try await monitor.visit()
        #expect(smaller.status == 3 && smaller.codes == ["rollback"], "\(smaller)")
        #expect(try monitor.kept() == before)
    }

    @Test(
        "cosignatures that are older than a head's life are named",
        .enabled(if: WitnessUnderTest.hasPython, "needs Python's cryptography"))
    func stale() async throws {
        let feed = try await WitnessedFeed()
        let shown = try await feed.feed("key", witnessed: false)
        let log = try ServiceUnderTest.word(after: "log key: ", in: shown.output)
        let peer = try await WitnessPeer(log: log, behaviour: "stale")
        let directory = try TemporaryDirectory()
        let policy = directory.path + "/policy"
        try "witness w \(peer.key) \(peer.url)\nquorum w\n".write(
            toFile: policy, atomically: true, encoding: .utf8)
        let published = try await feed.feed("refresh", "--witnesses", policy, witnessed: false)
        #expect(published.status == 0, "\(published.output)")
        #expect(published.output.contains("31536"), "the clock's difference: \(published.output)")
        let visit = try await RunningProgram.run(
            "reveille",
            ["feed", "monitor", feed.site.url, "--key", feed.site.key, "--policy", policy])
        #expect(visit.status == 3 && visit.output.contains("stale-cosignature: "))
    }

    @Test("a site that does not answer says nothing of the feed, and the file stays as it was")
    func unreachable() async throws {
        let feed = try await WitnessedFeed()
        let monitor = try Monitor(feed)
        try await feed.publish()
        #expect(try await monitor.visit().status == 0)
        let before = try monitor.kept()
        try await feed.publish()
        for path in ["keys", "head", "checkpoint", "tile/entries/000.p/3", "b/"] {
            feed.site.answer { $0.hasPrefix(path) ? .wire([], ends: true) : .file }
            let visit = try await monitor.visit()
            #expect(visit.status == 75, "\(path): \(visit)")
            #expect(try monitor.kept() == before, "\(path)")
        }
        let nobody = try await RunningProgram.run(
            "reveille", ["feed", "monitor", "http://127.0.0.1:9/", "--key", feed.site.key])
        #expect(nobody.status == 75, "\(nobody.output)")
        feed.site.answer { _ in .file }
        #expect(try await monitor.visit().status == 0)
    }

    @Test("killed at any request, its file is whole, and the next visit goes on from it")
    func killed() async throws {
        let feed = try await WitnessedFeed()
        let monitor = try Monitor(feed)
        try await feed.publish()
        #expect(try await monitor.visit().status == 0)
        var before = try monitor.kept()
        // keys, head, checkpoint, entries, two batches and more.
        for request in 0..<7 {
            try await feed.publish()
            let seen = feed.site.requests.count
            let program = Observed<RunningProgram?>(nil)
            feed.site.answerRequests { [site = feed.site] _ in
                guard site.requests.count > seen + request else { return .file }
                while program.value == nil { sched_yield() }
                program.value?.signal(SIGKILL)
                return .wire([], ends: true)
            }
            let running = try RunningProgram("reveille", monitor.words)
            program.update { $0 = running }
            let status = await running.exit()
            if status == 0 { before = try monitor.kept() }
            #expect(try monitor.kept() == before, "request \(request), \(status)")
            feed.site.answer { _ in .file }
            #expect(try await monitor.visit().status == 0)
            before = try monitor.kept()
        }
        // Half a file is refused by its name: who removes it starts again from the beginning.
        try Files.replace(monitor.file, with: Array(before.prefix(100)).span)
        let damaged = try await RunningProgram.run("reveille", monitor.words)
        #expect(damaged.status == 65 && damaged.output.contains("the file is damaged"))
        try FileManager.default.removeItem(atPath: monitor.file)
        #expect(try await monitor.visit().status == 0)
    }

    @Test("the unit's command, with its configuration as the guide has it, does this")
    func unit() async throws {
        let feed = try await WitnessedFeed()
        try await feed.publish()
        let unit = try Repository.text("Deploy/reveille-feed-monitor.service")
        func value(_ name: String) throws -> String {
            let line = try #require(
                unit.split(separator: "\n").first { $0.hasPrefix(name + "=") })
            return String(line.dropFirst(name.count + 1))
        }
        #expect(try value("EnvironmentFile") == "/etc/reveille-feed-monitor.conf")
        let guide = try Repository.text("Deploy/OPERATING.md")
        let start = try #require(guide.range(of: "```\nFEED="))
        let block = guide[start.lowerBound...].dropFirst(4)
        let end = try #require(block.range(of: "```"))
        let text = String(block[..<end.lowerBound])
        let directory = try TemporaryDirectory()
        let settings =
            text
            .replacing("https://feed.example.org/feed", with: feed.site.url)
            .replacing("FEED_KEY", with: feed.site.key)
            .replacing("/etc/reveille-feed-monitor.policy", with: feed.policy)
        #expect(settings.contains(feed.site.key) && settings.contains(feed.policy))
        // systemd.exec(5), "Environment": ${X} is one word, $X is split into words, as in a shell.
        let command = try value("ExecStart")
            .replacing("/usr/local/bin/reveille", with: "\"$0\"")
            .replacing("/var/lib/reveille-feed-monitor", with: directory.path)
        let assignments = settings.split(separator: "\n").map { line in
            String(line).replacing("=", with: "='", maxReplacements: 1) + "'"
        }
        for _ in 0..<2 {
            let answer = try await RunningProgram.run(
                path: "/bin/bash",
                ["-c", (assignments + [command]).joined(separator: "\n")]
                    + [RunningProgram.folder.appending(path: "reveille").path])
            #expect(answer.status == 0, "\(answer.output)")
        }
        #expect(FileManager.default.fileExists(atPath: directory.path + "/log"))
    }
}
