import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Proofs of downloaded heads")
struct ArchivedProofsTests {
    private typealias Fault = FeedFile.Fault
    private static let now = TemporaryFeed.now

    /// A feed whose heads two of three witnesses cosign, and a folder for what was downloaded.
    private struct Fixture {
        let feed: TemporaryFeed
        let witnesses: MemoryWitnesses
        let policy: WitnessPolicy

        init(dishonest: Set<Int> = []) throws {
            feed = try TemporaryFeed()
            witnesses = try MemoryWitnesses(3, dishonest: dishonest)
            policy = try witnesses.policy(2)
            witnesses.silence([2])
            try publish(0)
        }

        func publish(_ number: Int, in directory: String? = nil) throws {
            let publisher = FeedPublisher(
                directory: directory ?? feed.directory, key: feed.key,
                witnesses: witnesses.collector(policy))
            _ = try publisher.publish(
                try Sample.input([number]), now: now + Int64(number) * 3600)
        }

        /// Signs the head again.
        func resign(_ minute: Int64, in directory: String? = nil) throws {
            try FeedPublisher(
                directory: directory ?? feed.directory, key: feed.key,
                witnesses: witnesses.collector(policy)
            ).resign(now: now + minute * 60)
        }

        /// Keeps the file `head` as it is now.
        func keepHead(as name: String, from directory: String? = nil) throws -> String {
            try keep(FeedDirectory(directory ?? feed.directory).headFile(), as: name)
        }

        func keep(_ bytes: [UInt8], as name: String) throws -> String {
            let path = feed.path + "/" + name
            try Files.replace(path, with: bytes.span)
            return path
        }

        func judge(
            _ paths: [String], policy: WitnessPolicy?, known: LogCursor? = nil, now: Int64 = now
        ) -> [FeedArchive.Verdict] {
            FeedArchive(
                paths, key: feed.publicKey,
                proofs: ArchivedProofs(policy: policy, known: known, now: now)
            ).verdicts
        }

        func faults(
            _ paths: [String], policy: WitnessPolicy?, known: LogCursor? = nil
        ) -> [Fault?] {
            judge(paths, policy: policy, known: known).map {
                if case .failure(let fault) = $0.result { fault } else { nil }
            }
        }
    }

    @Test("a head with its proof is right under the policy; alone it is not enough")
    func right() throws {
        let fixture = try Fixture()
        let head = fixture.feed.directory + "/head"
        func proof(now: Int64) throws -> ArchivedProofs.Proof {
            let verdict = fixture.judge([head], policy: fixture.policy, now: now)[0]
            guard case .success(.head(_, let proof?)) = verdict.result, verdict.isProven else {
                throw TestFailure("\(verdict)")
            }
            return proof
        }
        let fresh = try proof(now: Self.now)
        #expect(fresh.index == 1 && fresh.size == 2 && fresh.cosigners == 2 && !fresh.isStale)
        #expect(try proof(now: Self.now + 30 * TemporaryFeed.day).isStale)
        #expect(fixture.faults([head], policy: nil) == [nil])
        let three = try fixture.witnesses.policy(3)
        #expect(fixture.faults([head], policy: three) == [.proof(.noQuorum)])
        let bare = try fixture.keep(fixture.feed.headBytes(), as: "bare")
        #expect(fixture.faults([bare], policy: fixture.policy) == [.unproven])
        #expect(fixture.faults([bare], policy: nil) == [nil])
        #expect(fixture.faults([bare, head], policy: fixture.policy) == [nil, nil])
    }

    @Test("a proof is of the 31 heads before its own as well, and of none further back")
    func history() throws {
        let fixture = try Fixture()
        var (whole, bare): ([String], [String]) = ([], [])
        for number in 1...70 {
            try fixture.publish(number)
            whole.append(try fixture.keepHead(as: "head-\(number)"))
            bare.append(try fixture.keep(fixture.feed.headBytes(), as: "bare-\(number)"))
        }
        #expect(fixture.faults(whole, policy: fixture.policy).allSatisfy { $0 == nil })
        let faults = fixture.faults(bare + [whole[69]], policy: fixture.policy)
        #expect(
            faults == Array(repeating: .unproven, count: 38) + Array(repeating: nil, count: 33))
    }

    @Test("proofs of two histories contradict each other, and one that the profile accepted")
    func otherHistory() throws {
        let fixture = try Fixture(dishonest: [0, 1])
        let twin = fixture.feed.path + "/twin"
        let first = try fixture.keepHead(as: "first")
        try FileManager.default.copyItem(atPath: fixture.feed.directory, toPath: twin)
        try fixture.resign(1)
        try fixture.resign(2, in: twin)
        try fixture.resign(3, in: twin)
        let here = try fixture.keepHead(as: "here")
        let there = try fixture.keepHead(as: "there", from: twin)
        #expect(fixture.faults([first, here], policy: fixture.policy) == [nil, nil])
        #expect(fixture.faults([there, first], policy: fixture.policy) == [nil, nil])
        #expect(
            fixture.faults([there, here, first], policy: nil)
                == [.proof(.otherHistory), nil, nil])
        func cursor(_ path: String) throws -> LogCursor {
            let file = try Files.read(path, limit: FeedLimits.headFileBytes)
            let tree = try #require(LogProof(try FeedHead.split(file).proof)).checkpoint
            let origin = try #require(NoteKeyName(tree.checkpoint.origin))
            return LogCursor(
                origin: origin, size: tree.checkpoint.size, root: tree.checkpoint.root)
        }
        #expect(
            fixture.faults([there], policy: fixture.policy, known: try cursor(here))
                == [.proof(.otherHistory)])
        #expect(
            fixture.faults([there], policy: fixture.policy, known: try cursor(first)) == [nil])
        // What was accepted is newer than the file.
        #expect(
            fixture.faults([first], policy: fixture.policy, known: try cursor(here)) == [nil])
    }

    @Test("a proof that is changed, cut or followed by more is refused, and its head with it")
    func changed() throws {
        let fixture = try Fixture()
        let all = try fixture.witnesses.policy(2)
        let (head, bytes) = try FeedDirectory(fixture.feed.directory).servedHead()
        func faults(_ proof: [UInt8], policy: WitnessPolicy?) throws -> [Fault?] {
            fixture.faults([try fixture.keep(head + proof, as: "p")], policy: policy)
        }
        #expect(try faults(bytes, policy: all) == [nil])
        var turned = bytes
        turned[bytes.count / 2] ^= 1
        #expect(try faults(turned, policy: all) != [nil])
        for length in [1, 20, 21, 100, bytes.count - 1] {
            let cut = Array(bytes[..<length])
            #expect(try faults(cut, policy: nil) == [.proof(.malformed)], "\(length)")
        }
        let spaces = [UInt8](repeating: 0x20, count: 8192)
        #expect(try faults(bytes + spaces, policy: nil) == [.proof(.malformed)])
        #expect(try faults(bytes + spaces + spaces, policy: nil) == [.refused(.tooLarge)])
    }

    @Test("another head's proof, and one of a second log of the same key, are not this head's")
    func otherLog() throws {
        let fixture = try Fixture()
        let other = try TemporaryFeed(creating: false)
        let origin = try #require(NoteKeyName("second.example/log"))
        try FeedDirectory.create(
            other.directory, key: fixture.feed.key, origin: origin, now: Self.now)
        try FeedPublisher(
            directory: other.directory, key: fixture.feed.key,
            witnesses: fixture.witnesses.collector(fixture.policy)
        ).resign(now: Self.now)
        let files = [other.directory + "/head"]
        #expect(fixture.faults(files, policy: fixture.policy) == [.proof(.otherLog)])
        #expect(fixture.faults(files, policy: nil) == [nil])
        let stranger = try TemporaryFeed(seed: 9)
        let foreign = try FeedDirectory(stranger.directory).servedHead().proof
        let mixed = try fixture.keep(fixture.feed.headBytes() + foreign, as: "mixed")
        #expect(fixture.faults([mixed], policy: nil) == [.proof(.otherHead)])
    }
}
