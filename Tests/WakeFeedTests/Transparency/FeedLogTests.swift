import Glibc
import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

/// Witnesses in memory: they cosign what continues the tree they saw last, or all they are shown.
final class MemoryWitnesses: Sendable {
    private struct State {
        var trees: [[UInt8]: (size: UInt64, root: TreeHash)] = [:]
        var isSilent = false
    }

    let signers: [NoteSigner]
    private let states: Mutex<[State]>
    /// The places of those that cosign anything.
    private let dishonest: Set<Int>

    init(_ count: Int, dishonest: Set<Int> = []) throws {
        signers = try (0..<count).map { index in
            let seed = [UInt8](repeating: UInt8(200 + index), count: 32)
            return NoteSigner(
                name: try #require(NoteKeyName("w\(index).example")),
                key: SigningKey(seed: seed.span)
            )
        }
        states = Mutex(Array(repeating: State(), count: count))
        self.dishonest = dishonest
    }

    /// A policy of k of them.
    func policy(_ quorum: Int, log: NoteKey? = nil) throws -> WitnessPolicy {
        let lines = signers.enumerated().map { index, signer in
            "witness w\(index) \(signer.verifier(.cosignature).text)"
        }
        let names = signers.indices.map { "w\($0)" }.joined(separator: " ")
        let text =
            (log.map { ["log \($0.text)"] } ?? []) + lines
            + ["group all \(quorum) \(names)", "quorum all", ""]
        return try WitnessPolicy(Array(text.joined(separator: "\n").utf8))
    }

    func silence(_ places: Set<Int>) {
        states.withLock { states in
            for index in states.indices { states[index].isSilent = places.contains(index) }
        }
    }

    enum Answer { case cosigned(NoteSignature), conflict(UInt64), refused }

    func ask(_ index: Int, _ request: AddCheckpointRequest, time: Int64) -> Answer? {
        let tree = request.checkpoint.checkpoint
        return states.withLock { states -> Answer? in
            guard !states[index].isSilent else { return nil }
            let known = states[index].trees[tree.origin] ?? (0, MerkleTree.emptyRoot)
            if !dishonest.contains(index) {
                guard request.oldSize == known.size else { return .conflict(known.size) }
                guard request.isConsistent(withRoot: known.root) else { return .refused }
            }
            states[index].trees[tree.origin] = (tree.size, tree.root)
            return .cosigned(signers[index].cosign(tree.text, time: time))
        }
    }

    /// As a publisher asks them: once more after a conflict.
    /// - Parameter ignoringRefusals: as somebody does who means to fork.
    func collector(
        _ policy: WitnessPolicy, time: Int64 = TemporaryFeed.now, ignoringRefusals: Bool = false
    ) -> WitnessCollector {
        { submission throws(FeedDirectoryError) in
            var (signatures, places): ([NoteSignature], Set<Int>) = ([], [])
            for index in self.signers.indices {
                var size = submission.probableSize
                for _ in 0..<2 {
                    guard let request = try submission.request(from: size) else {
                        if ignoringRefusals { break }
                        throw .witnesses(WitnessRefusal(.otherHistory, reasons: []))
                    }
                    switch self.ask(index, request, time: time) {
                    case .cosigned(let signature):
                        signatures.append(signature)
                        places.insert(index)
                    case .conflict(let other):
                        size = other
                        continue
                    case .refused:
                        if ignoringRefusals { break }
                        throw .witnesses(WitnessRefusal(.otherHistory, reasons: []))
                    case nil: break
                    }
                    break
                }
            }
            guard policy.isQuorum(places) else {
                throw .witnesses(WitnessRefusal(.noQuorum, reasons: []))
            }
            return signatures
        }
    }
}

@Suite("The log of a feed's heads")
struct FeedLogTests {
    private static let now = TemporaryFeed.now

    private static func size(_ feed: TemporaryFeed) throws -> UInt64 {
        try #require(try FeedDirectory(feed.directory).checkpoint()).checkpoint.size
    }

    @Test("every head that is signed is in the log, and the proof is the newest one's")
    func everyHead() throws {
        let feed = try TemporaryFeed()
        #expect(try Self.size(feed) == 1)
        var heads = [try feed.headBytes()]
        for round in 0..<4 {
            if round % 2 == 0 {
                try feed.publisher().publishCover(now: Self.now)
            } else {
                try feed.publisher().resign(now: Self.now + Int64(round) * 60)
            }
            heads.append(try feed.headBytes())
            let directory = FeedDirectory(feed.directory)
            let chain = try directory.keys(feed.publicKey)
            let signed = try #require(try directory.verifyLog(chain))
            #expect(signed.checkpoint.size == UInt64(heads.count))
            #expect(signed.checkpoint.origin == Array(feed.publicKey.feedID.origin.utf8))
            for (index, head) in heads.enumerated() {
                #expect(
                    try directory.logEntry(UInt64(index), size: UInt64(heads.count)) == head)
            }
            let served = try directory.servedHead()
            let proof = try #require(LogProof(served.proof))
            #expect(proof.index == UInt64(heads.count - 1))
            #expect(proof.includes(MerkleTree.leaf(served.head.span)))
        }
    }

    @Test("300 heads: tiles fill, partial ones go after an hour, and a copy of it is the same log")
    func tiles() throws {
        let feed = try TemporaryFeed()
        for round in 1..<300 {
            try feed.publisher().resign(now: Self.now + Int64(round) * 60)
        }
        let directory = FeedDirectory(feed.directory)
        let chain = try directory.keys(feed.publicKey)
        #expect(try directory.verifyLog(chain)?.checkpoint.size == 300)
        #expect(Files.exists(feed.directory + "/tile/0/000"))
        #expect(Files.exists(feed.directory + "/tile/1/000.p/1"))
        #expect(Files.exists(feed.directory + "/tile/entries/001.p/44"))
        #expect(Files.exists(feed.directory + "/tile/entries/000.p/100"))
        // Files carry the machine's own time.
        let later = Int64(time(nil)) + 2 * 3600
        #expect(try feed.publisher().prune(now: later) > 500)
        #expect(!Files.exists(feed.directory + "/tile/entries/000.p/100"))
        #expect(try directory.verifyLog(chain)?.checkpoint.size == 300)
        // Restored from a host of plain files: without the publisher's own.
        try Files.remove(directory.logPath)
        try feed.publisher().resign(now: Self.now + 400 * 60)
        #expect(try directory.verifyLog(chain)?.checkpoint.size == 301)
    }

    @Test(
        "without a quorum the old head stays, and the next publisher serves the pending one first")
    func pending() throws {
        let feed = try TemporaryFeed()
        let witnesses = try MemoryWitnesses(3)
        let policy = try witnesses.policy(2)
        let publisher = FeedPublisher(
            directory: feed.directory, key: feed.key, witnesses: witnesses.collector(policy))
        let input = try Sample.input([1])
        _ = try publisher.publish(input, now: Self.now)
        let before = try feed.headBytes()
        witnesses.silence([0, 1])
        let other = try Sample.input([2])
        for _ in 0..<3 {
            let error = failure { () throws(FeedDirectoryError) in
                _ = try publisher.publish(other, now: Self.now)
            }
            #expect(error == .witnesses(WitnessRefusal(.noQuorum, reasons: [])))
            #expect(try feed.headBytes() == before && Self.size(feed) == 2)
            _ = try feed.verify()
            // Its batch is older than an hour, and needed.
            try publisher.prune(now: Int64(time(nil)) + 7200)
        }
        witnesses.silence([1])
        #expect(try publisher.publish(other, now: Self.now) == .alreadyPublished(2...2))
        let report = try feed.verify(secrets: [1, 2].map(Sample.localSecret))
        #expect(report.matches.count == 2 && report.head.sequence == 2)
        #expect(try Self.size(feed) == 3)
        // The third witness was behind, and comes along.
        witnesses.silence([])
        try publisher.resign(now: Self.now + 60)
        let signed = try #require(try FeedDirectory(feed.directory).checkpoint())
        #expect(signed.note.signatures.count == 4)
    }

    @Test("a second history of one log is refused, loudly, and nothing is published")
    func otherHistory() throws {
        let feed = try TemporaryFeed()
        let witnesses = try MemoryWitnesses(3)
        let policy = try witnesses.policy(2)
        let publisher = FeedPublisher(
            directory: feed.directory, key: feed.key, witnesses: witnesses.collector(policy))
        try publisher.resign(now: Self.now + 60)
        let twin = try TemporaryFeed()
        let fork = FeedPublisher(
            directory: twin.directory, key: twin.key, witnesses: witnesses.collector(policy))
        let before = try twin.headBytes()
        let input = try Sample.input([1])
        for _ in 0..<2 {
            let error = failure { () throws(FeedDirectoryError) in
                _ = try fork.publish(input, now: Self.now)
            }
            #expect(error == .witnesses(WitnessRefusal(.otherHistory, reasons: [])))
            #expect(try twin.headBytes() == before)
        }
        #expect(try publisher.publish(try Sample.input([1]), now: Self.now) == .published(1...1))
    }

    @Test("killed at every step with witnesses, the directory verifies and the log goes on")
    func killed() throws {
        let witnesses = try MemoryWitnesses(3)
        let policy = try witnesses.policy(2)
        let feed = try TemporaryFeed()
        var step = 0
        var wasStopped = true
        while wasStopped {
            let left = Mutex(step)
            let publisher = FeedPublisher(
                directory: feed.directory, key: feed.key, witnesses: witnesses.collector(policy)
            ) { _ throws(FeedDirectoryError) in
                let isLast = left.withLock { left in
                    left -= 1
                    return left < 0
                }
                if isLast { throw .interrupted }
            }
            let input = try Sample.input([step])
            let error = failure { () throws(FeedDirectoryError) in
                _ = try publisher.publish(input, now: Self.now)
            }
            wasStopped = error == .interrupted
            _ = try feed.verify()
            try FeedPublisher(
                directory: feed.directory, key: feed.key, witnesses: witnesses.collector(policy)
            ).resign(now: Self.now + Int64(step) * 60)
            let report = try feed.verify()
            #expect(report.head.sequence <= UInt64(step) + 1)
            step += 1
        }
        #expect(step > 10)
    }

    @Test("after a succession the log goes on under the new key and the same name")
    func succession() throws {
        let feed = try TemporaryFeed()
        let before = try #require(try FeedDirectory(feed.directory).checkpoint())
        let new = SigningKey(seed: [UInt8](repeating: 2, count: 32).span)
        try FeedPublisher(directory: feed.directory, key: new).succeed(feed.key, now: Self.now)
        let after = try #require(try FeedDirectory(feed.directory).checkpoint())
        #expect(after.checkpoint.origin == before.checkpoint.origin && after.checkpoint.size == 2)
        let name = try #require(NoteKeyName(after.checkpoint.origin))
        let keys = [feed.key, new].map { NoteSigner(name: name, key: $0).verifier(.ed25519) }
        #expect(try after.note.verify(keys) == [nil, NoteVerification(time: nil)])
        _ = try feed.verify()
    }
}
