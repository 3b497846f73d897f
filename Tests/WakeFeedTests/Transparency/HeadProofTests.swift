import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Proofs of heads, under a policy")
struct HeadProofTests {
    private static let now = TemporaryFeed.now

    /// What a client sees of a directory.
    struct Sight {
        let head: [UInt8]
        let proof: [UInt8]
        let verified: VerifiedHead

        init(_ feed: TemporaryFeed, now: Int64 = now) throws {
            let directory = FeedDirectory(feed.directory)
            let (head, proof) = try directory.servedHead()
            (self.head, self.proof) = (head, proof)
            let keys = try directory.keysBytes()
            verified = try HeadVerifier(cursor: FeedCursor(key: feed.publicKey))
                .verify(head.span, keys: keys, now: now)
        }

        func verify(
            _ policy: WitnessPolicy, _ cursor: LogCursor? = nil, now: Int64 = now
        ) throws(HeadProofFault) -> HeadProofVerifier.Verified {
            try HeadProofVerifier(policy: policy, cursor: cursor)
                .verify(head + proof, of: verified, now: now)
        }

        func fault(
            _ policy: WitnessPolicy, _ cursor: LogCursor? = nil, proof: [UInt8]? = nil
        ) -> HeadProofFault? {
            failure { () throws(HeadProofFault) in
                _ = try HeadProofVerifier(policy: policy, cursor: cursor)
                    .verify(head + (proof ?? self.proof), of: verified, now: now)
            }
        }
    }

    private static func publisher(
        _ feed: TemporaryFeed, _ witnesses: MemoryWitnesses, _ quorum: Int = 2,
        time: Int64 = now
    ) throws -> FeedPublisher {
        FeedPublisher(
            directory: feed.directory, key: feed.key,
            witnesses: witnesses.collector(try witnesses.policy(quorum), time: time))
    }

    @Test("a quorum is believed, from one tree to the next; less is not")
    func quorum() throws {
        let feed = try TemporaryFeed()
        let witnesses = try MemoryWitnesses(3)
        let policy = try witnesses.policy(2)
        #expect(try Sight(feed).fault(policy) == .noQuorum)
        witnesses.silence([2])
        let publisher = try Self.publisher(feed, witnesses)
        try publisher.resign(now: Self.now)
        let first = try Sight(feed)
        let cursor = try first.verify(policy).cursor
        #expect(try first.fault(witnesses.policy(3)) == .noQuorum)
        #expect(LogCursor(decoding: cursor.encode()) == cursor)
        #expect(try first.verify(policy, cursor).cursor == cursor)
        try publisher.resign(now: Self.now + 60)
        let second = try Sight(feed)
        let next = try second.verify(policy, cursor)
        #expect(next.cursor.size == 3 && !next.isStale)
        #expect(first.fault(policy, next.cursor) == .rollback)
        // One is older than the other.
        #expect(second.fault(policy, proof: first.proof) == .otherHead)
        #expect(first.fault(policy, proof: second.proof) == .otherHead)
        #expect(first.fault(policy, proof: []) == .malformed)
        #expect(first.fault(policy, proof: Array(first.proof.dropLast())) == .malformed)
        let late = try second.verify(policy, cursor, now: Self.now + 8 * TemporaryFeed.day)
        #expect(late.isStale)
    }

    @Test("a head of 14 days with its proof has at most 4,900 bytes: 10,000 heads, 3 witnesses")
    func size() throws {
        let key = SigningKey(seed: [UInt8](repeating: 7, count: 32).span)
        let origin = NoteKeyName(defaultFor: FeedKey(key.verifyingKey).feedID)
        let hash = MerkleTree.emptyRoot
        // With as many subtrees before the history as there can be, and as long a proof.
        for size in [10_000, 8191 + UInt64(LogHistory.leaves), 8192] {
            var signed = SignedCheckpoint(
                LogCheckpoint(origin: origin.bytes, size: size, root: hash),
                signedBy: NoteSigner(name: origin, key: key))
            for number in 1...3 {
                let name = try #require(NoteKeyName("witness-\(number).example.org/of/feeds"))
                let witness = NoteSigner(name: name, key: key)
                signed.append(witness.cosign(signed.checkpoint.text, time: Self.now))
            }
            let start = LogHistory.start(of: size)
            let history = LogHistory(
                before: MerkleFrontier(
                    size: start, roots: CompleteSubtree.covering(0..<start).map { _ in hash }),
                leaves: Array(repeating: hash, count: LogHistory.leaves))
            let plan = try #require(MerkleProofPlan.inclusion(of: size - 1, in: size))
            let proof = LogProof(
                index: size - 1, hashes: plan.parts.map { _ in hash }, checkpoint: signed,
                extra: history.bytes)
            // A batch every two hours.
            let file = FeedHead.layout(naming: 14 * 12).count + proof.bytes.count
            #expect(file <= 4900, "\(size) heads: \(file) bytes")
        }
    }

    @Test("any changed byte of a proof is refused, or is of nothing that counts")
    func changed() throws {
        let feed = try TemporaryFeed()
        let witnesses = try MemoryWitnesses(3)
        let policy = try witnesses.policy(3)
        let publisher = try Self.publisher(feed, witnesses, 3)
        for minute in 1...4 { try publisher.resign(now: Self.now + Int64(minute) * 60) }
        let cursor = try Sight(feed).verify(policy).cursor
        try publisher.resign(now: Self.now + 5 * 60)
        let sight = try Sight(feed)
        _ = try sight.verify(policy, cursor)
        var random = SplitMix64(seed: 91)
        for index in sight.proof.indices {
            var proof = sight.proof
            proof[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
            #expect(sight.fault(policy, cursor, proof: proof) != nil, "byte \(index)")
        }
        // Without its history it may hide one.
        let read = try #require(LogProof(sight.proof))
        let bare = LogProof(index: read.index, hashes: read.hashes, checkpoint: read.checkpoint)
        #expect(sight.fault(policy, cursor, proof: bare.bytes) == .otherHistory)
        #expect(sight.fault(policy, nil, proof: bare.bytes) == nil)
    }

    @Test("another name, and a key that was succeeded, are not the feed's log")
    func names() throws {
        let witnesses = try MemoryWitnesses(3)
        let feed = try TemporaryFeed(creating: false)
        let origin = try #require(NoteKeyName("wake.example.org/feed"))
        try FeedDirectory.create(feed.directory, key: feed.key, origin: origin, now: Self.now)
        try Self.publisher(feed, witnesses).resign(now: Self.now)
        let sight = try Sight(feed)
        #expect(sight.fault(try witnesses.policy(2)) == .otherLog)
        let signer = NoteSigner(name: origin, key: feed.key)
        #expect(sight.fault(try witnesses.policy(2, log: signer.verifier(.ed25519))) == nil)
        let other = SigningKey(seed: [UInt8](repeating: 7, count: 32).span)
        let stranger = NoteSigner(name: origin, key: other).verifier(.ed25519)
        #expect(sight.fault(try witnesses.policy(2, log: stranger)) == .otherLog)
        // The policy names the key of before; the log goes on.
        let policy = try witnesses.policy(2, log: signer.verifier(.ed25519))
        let cursor = try sight.verify(policy).cursor
        try FeedPublisher(
            directory: feed.directory, key: other, witnesses: witnesses.collector(policy)
        ).succeed(feed.key, now: Self.now + 60)
        let after = try Sight(feed)
        _ = try after.verify(policy, cursor)
        // The old key signs the very checkpoint again.
        let read = try #require(LogProof(after.proof))
        var old = SignedCheckpoint(read.checkpoint.checkpoint, signedBy: signer)
        for signature in read.checkpoint.note.signatures.dropFirst() { old.append(signature) }
        let proof = LogProof(
            index: read.index, hashes: read.hashes, checkpoint: old, extra: read.extra)
        #expect(after.fault(policy, cursor, proof: proof.bytes) == .badSignature)
    }

    @Test("a client that was away for longer than a proof reaches back relies on the witnesses")
    func away() throws {
        let feed = try TemporaryFeed()
        let witnesses = try MemoryWitnesses(1)
        let policy = try witnesses.policy(1)
        let publisher = try Self.publisher(feed, witnesses, 1)
        var cursors: [LogCursor] = []
        for minute in 1...150 {
            try publisher.resign(now: Self.now + Int64(minute) * 60)
            cursors.append(try Sight(feed).verify(policy, cursors.last).cursor)
        }
        let sight = try Sight(feed)
        for cursor in cursors { _ = try sight.verify(policy, cursor) }
        // Another root at any size that it reaches.
        for cursor in cursors {
            let other = LogCursor(
                origin: cursor.origin, size: cursor.size, root: MerkleTree.emptyRoot)
            let isFar = sight.verified.head.issued > 0 && cursor.size + 32 < 151
            #expect(sight.fault(policy, other) == (isFar ? nil : .otherHistory))
        }
    }

    /// The publisher has the real key, and serves one client another feed; one of the three
    /// witnesses helps. The others hold the true log.
    @Test("of 1,000 clients with a policy of two of three, none believes a fork")
    func fork() throws {
        let witnesses = try MemoryWitnesses(3, dishonest: [0])
        let policy = try witnesses.policy(2)
        let feed = try TemporaryFeed()
        let publisher = try Self.publisher(feed, witnesses)
        _ = try publisher.publish(try Sample.input([1]), now: Self.now)
        let known = try Sight(feed)
        let cursor = try known.verify(policy).cursor
        var random = SplitMix64(seed: 2026)
        var minute: Int64 = 0
        var believed = 0
        var believedWithoutPolicy = 0
        for _ in 0..<25 {
            // What is put before the victim: a feed of its own, continued from a copy or from the
            // beginning, with whatever cosignatures there are to have.
            let isContinued = Bool.random(using: &random)
            let victim = try TemporaryFeed(creating: !isContinued)
            if isContinued {
                try FileManager.default.copyItem(atPath: feed.directory, toPath: victim.directory)
            }
            // The true log goes on: what follows is another history.
            minute += 1
            try publisher.resign(now: Self.now + minute * 60)
            let policyOfOne = try witnesses.policy(1)
            let forger = FeedPublisher(
                directory: victim.directory, key: victim.key,
                witnesses: witnesses.collector(policyOfOne, ignoringRefusals: true))
            let digest = Int.random(in: 2...99, using: &random)
            _ = try forger.publish(
                try Sample.input([digest]),
                now: Self.now + Int64.random(in: 0...3600, using: &random))
            let shown = try Sight(victim)
            for _ in 0..<40 {
                let client = Bool.random(using: &random) ? cursor : nil
                var proof = shown.proof
                if Bool.random(using: &random) {
                    // Cosignatures of the true log's checkpoint, moved to the false one.
                    let (false_, true_) = (LogProof(shown.proof), LogProof(known.proof))
                    if let false_, let true_ {
                        var checkpoint = false_.checkpoint
                        for signature in true_.checkpoint.note.signatures.dropFirst() {
                            checkpoint.append(signature)
                        }
                        proof =
                            LogProof(
                                index: false_.index, hashes: false_.hashes, checkpoint: checkpoint,
                                extra: false_.extra
                            ).bytes
                    }
                }
                if shown.fault(policy, client, proof: proof) == nil { believed += 1 }
                // Verified as every client verifies it: the key is the real one.
                believedWithoutPolicy += 1
            }
        }
        #expect(believed == 0 && believedWithoutPolicy == 1000)
        // Those who see the true feed go on.
        try publisher.resign(now: Self.now + 7200)
        _ = try Sight(feed).verify(policy, cursor)
    }
}
