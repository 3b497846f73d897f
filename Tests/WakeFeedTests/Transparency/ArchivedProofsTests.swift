import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed

@Suite("Proofs among downloaded files")
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

        /// Keeps a file of the feed as it is now.
        func keep(_ file: String, as name: String, from directory: String? = nil) throws -> String {
            let bytes = try Files.read(
                (directory ?? feed.directory) + "/" + file, limit: FeedLimits.proofBytes)
            return try keep(bytes, as: name)
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

    @Test("a head and its proof are right under the policy, in any order; each alone is not enough")
    func right() throws {
        let fixture = try Fixture()
        let (head, proof) = (fixture.feed.directory + "/head", fixture.feed.directory + "/proof")
        for paths in [[head, proof], [proof, head]] {
            let verdicts = fixture.judge(paths, policy: fixture.policy)
            for verdict in verdicts {
                switch verdict.result {
                case .success(.head): #expect(verdict.isProven)
                case .success(.proof(let proof)):
                    #expect(proof.index == 1 && proof.size == 2 && proof.cosigners == 2)
                    #expect(!proof.isStale)
                default: Issue.record("\(verdict)")
                }
            }
        }
        #expect(fixture.faults([head], policy: fixture.policy) == [.unproven])
        #expect(fixture.faults([proof], policy: fixture.policy) == [nil])
        #expect(fixture.faults([head], policy: nil) == [nil])
        #expect(fixture.faults([head, proof], policy: nil) == [nil, nil])
        let three = try fixture.witnesses.policy(3)
        #expect(
            fixture.faults([head, proof], policy: three) == [.unproven, .proof(.noQuorum)])
        let late = fixture.judge(
            [head, proof], policy: fixture.policy, now: Self.now + 30 * TemporaryFeed.day)
        guard case .success(.proof(let stale)) = late[1].result else {
            Issue.record("\(late)")
            return
        }
        #expect(stale.isStale && late[0].isProven)
    }

    @Test("one proof is of the 63 heads before its own as well, and of none further back")
    func history() throws {
        let fixture = try Fixture()
        var heads: [String] = []
        for number in 1...70 {
            try fixture.publish(number)
            heads.append(try fixture.keep("head", as: "head-\(number)"))
        }
        let proof = try fixture.keep("proof", as: "proof")
        let faults = fixture.faults(heads + [proof], policy: fixture.policy)
        #expect(faults == Array(repeating: .unproven, count: 6) + Array(repeating: nil, count: 65))
        // Of none of these.
        #expect(fixture.faults([heads[0], proof], policy: nil) == [nil, .proof(.otherHead)])
    }

    @Test("proofs of two histories contradict each other, and one that the profile accepted")
    func otherHistory() throws {
        let fixture = try Fixture(dishonest: [0, 1])
        let twin = fixture.feed.path + "/twin"
        let first = try fixture.keep("proof", as: "first")
        let accepted = try #require(LogProof(try Files.read(first, limit: 8192)))
        try FileManager.default.copyItem(atPath: fixture.feed.directory, toPath: twin)
        try fixture.publish(1)
        try fixture.publish(2, in: twin)
        try fixture.publish(3, in: twin)
        let here = try fixture.keep("proof", as: "here")
        let there = try fixture.keep("proof", as: "there", from: twin)
        #expect(fixture.faults([first, here], policy: fixture.policy) == [nil, nil])
        #expect(fixture.faults([there, first], policy: fixture.policy) == [nil, nil])
        #expect(
            fixture.faults([there, here, first], policy: nil)
                == [.proof(.otherHistory), nil, nil])
        func cursor(_ path: String) throws -> LogCursor {
            let tree = try #require(LogProof(try Files.read(path, limit: 8192))).checkpoint
            let origin = try #require(NoteKeyName(tree.checkpoint.origin))
            return LogCursor(
                origin: origin, size: tree.checkpoint.size, root: tree.checkpoint.root)
        }
        #expect(accepted.index == 1)
        #expect(
            fixture.faults([there], policy: fixture.policy, known: try cursor(here))
                == [.proof(.otherHistory)])
        #expect(
            fixture.faults([there], policy: fixture.policy, known: try cursor(first)) == [nil])
        // What was accepted is newer than the file.
        #expect(
            fixture.faults([first], policy: fixture.policy, known: try cursor(here)) == [nil])
    }

    @Test("whichever bit of a proof is turned, it or its head is refused under a policy of all")
    func flipped() throws {
        let fixture = try Fixture()
        let all = try fixture.witnesses.policy(2)
        let head = fixture.feed.directory + "/head"
        let bytes = try Files.read(fixture.feed.directory + "/proof", limit: 8192)
        var random = SplitMix64(seed: 29)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
            let faults = fixture.faults([head, try fixture.keep(changed, as: "p")], policy: all)
            #expect(faults[0] == .unproven && faults[1] != nil, "byte \(index)")
        }
        for length in [20, 21, 100, bytes.count - 1] {
            let cut = try fixture.keep(Array(bytes[..<length]), as: "p")
            #expect(fixture.faults([cut], policy: nil) == [.proof(.malformed)], "\(length)")
        }
        let long = try fixture.keep(bytes + [UInt8](repeating: 0x20, count: 8192), as: "p")
        #expect(fixture.faults([long], policy: nil) == [.refused(.tooLarge)])
    }

    @Test("another feed's proof, and one of a second log of the same key, are not this feed's")
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
        let files = [other.directory + "/head", other.directory + "/proof"]
        #expect(
            fixture.faults(files, policy: fixture.policy) == [.unproven, .proof(.otherLog)])
        #expect(fixture.faults(files, policy: nil) == [nil, nil])
        let stranger = try TemporaryFeed(seed: 9)
        #expect(
            fixture.faults([stranger.directory + "/proof"], policy: nil) == [.proof(.badSignature)])
    }
}
