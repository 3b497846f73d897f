import Foundation
import Synchronization
import TestSupport
import Testing
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish
import WakeSystem

@testable import WakeServer

@Suite(
    "A publisher and witnesses of other make",
    .enabled(if: PythonScript.has("cryptography"), "needs python3 with the cryptography package"),
    .timeLimit(.minutes(5)))
struct WitnessSubmissionTests {
    private static let now: Int64 = 1_800_000_059

    private static func peer(
        _ number: Int, log: String, behaviour: String = "honest"
    ) async throws -> WitnessPeer {
        try await WitnessPeer(
            name: "w\(number).example", log: log, behaviour: behaviour,
            seed: String(repeating: "0\(number)", count: 32))
    }

    /// The line of a policy for a numbered witness.
    private static func line(_ number: Int, _ peer: WitnessPeer) -> String {
        "witness w\(number) \(peer.key) \(peer.url)/\n"
    }

    private struct Feed {
        let directory = try? TemporaryDirectory()
        let key: SigningKey
        let log: String
        var path: String { (directory?.path ?? "/nowhere") + "/feed" }

        init(_ seed: UInt8 = 1, origin: NoteKeyName? = nil) throws {
            key = SigningKey(seed: [UInt8](repeating: seed, count: 32).span)
            let path = (directory?.path ?? "/nowhere") + "/feed"
            try FeedDirectory.create(path, key: key, origin: origin, now: now)
            let checkpoint = try #require(try FeedDirectory(path).checkpoint())
            let name = try #require(NoteKeyName(checkpoint.checkpoint.origin))
            log = NoteKey(name: name, feedKey: FeedKey(key.verifyingKey)).text
        }

        /// Publishes on a thread of its own, as the collector blocks.
        func resign(
            _ policy: WitnessPolicy, minute: Int64, patience: WitnessSubmission.Patience,
            heard: Heard = Heard()
        ) async throws -> FeedDirectoryError? {
            let fetcher = try Fetcher(FetchConfiguration())
            let publisher = FeedPublisher(
                directory: path, key: key,
                witnesses: WitnessSubmission.collector(policy, fetcher, patience: patience) {
                    heard.add($0, $1)
                })
            return await withCheckedContinuation { continuation in
                DispatchQueue(label: "publisher").async {
                    do throws(FeedDirectoryError) {
                        try publisher.resign(now: now + minute * 60)
                        continuation.resume(returning: nil)
                    } catch { continuation.resume(returning: error) }
                }
            }
        }

        func cosignatures() throws -> Int {
            try #require(try FeedDirectory(path).checkpoint()).note.signatures.count - 1
        }

        func size() throws -> UInt64 {
            try #require(try FeedDirectory(path).checkpoint()).checkpoint.size
        }
    }

    private final class Heard: Sendable {
        private let outcomes = Mutex<[String: WitnessSubmission.Outcome]>([:])
        func add(_ name: String, _ outcome: WitnessSubmission.Outcome) {
            outcomes.withLock { $0[name] = outcome }
        }
        var all: [String: WitnessSubmission.Outcome] { outcomes.withLock { $0 } }
    }

    private static func policy(
        _ lines: [String], quorum: Int
    ) throws(WitnessPolicyError) -> WitnessPolicy {
        let names = lines.indices.map { "w\($0 + 1)" }.joined(separator: " ")
        let text = lines.joined() + "group all \(quorum) \(names)\nquorum all\n"
        return try WitnessPolicy(Array(text.utf8))
    }

    private static var patience: WitnessSubmission.Patience {
        var patience = WitnessSubmission.Patience()
        patience.pause = .milliseconds(10)
        return patience
    }

    @Test("three cosign head after head; one that was away is caught up with by its own size")
    func honest() async throws {
        let feed = try Feed()
        var peers: [WitnessPeer] = []
        for number in 1...3 { peers.append(try await Self.peer(number, log: feed.log)) }
        let lines = peers.enumerated().map { Self.line($0 + 1, $1) }
        let two = try Self.policy(Array(lines[..<2]), quorum: 2)
        for minute in 1...3 {
            #expect(
                try await feed.resign(two, minute: Int64(minute), patience: Self.patience) == nil)
        }
        #expect(try feed.size() == 4 && feed.cosignatures() == 2)
        let three = try Self.policy(lines, quorum: 3)
        #expect(try await feed.resign(three, minute: 4, patience: Self.patience) == nil)
        #expect(try feed.size() == 5 && feed.cosignatures() == 3)
        let signed = try #require(try FeedDirectory(feed.path).checkpoint())
        let results = try signed.note.verify(three.witnesses.map(\.key))
        #expect(results.allSatisfy { $0?.time != nil })
    }

    @Test("a quorum does without one that fails; without a quorum each reason is named")
    func failing() async throws {
        let feed = try Feed(2)
        var lines: [String] = []
        var peers: [WitnessPeer] = []
        for (index, behaviour) in ["honest", "honest", "status:503", "forged"].enumerated() {
            let peer = try await Self.peer(index + 1, log: feed.log, behaviour: behaviour)
            peers.append(peer)
            lines.append(Self.line(index + 1, peer))
        }
        let heard = Heard()
        let two = try Self.policy(lines, quorum: 2)
        #expect(
            try await feed.resign(two, minute: 1, patience: Self.patience, heard: heard) == nil)
        #expect(heard.all["w1"] == .cosigned && heard.all["w2"] == .cosigned)
        #expect(try feed.cosignatures() == 2)
        let three = try Self.policy(lines, quorum: 3)
        let before = try Files.read(feed.path + "/head", limit: 4096)
        let error = try await feed.resign(three, minute: 2, patience: Self.patience)
        guard case .witnesses(let refusal) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.kind == .noQuorum && refusal.reasons.count == 2)
        #expect(refusal.reasons.contains("w3: answers 503"))
        #expect(refusal.reasons.contains("w4: answered without a signature of its key"))
        #expect(try Files.read(feed.path + "/head", limit: 4096) == before)
        // The pending head is served by the next publish that finds a quorum, and then one more.
        #expect(try await feed.resign(two, minute: 3, patience: Self.patience) == nil)
        #expect(try feed.size() == 4)
    }

    @Test("what a witness may answer beside one good line: half of it, more of it, at another time")
    func odd() async throws {
        let feed = try Feed(50)
        let behaviours = ["twice", "ahead", "stale", "short", "huge", "status:409", "status:200"]
        var (peers, lines): ([WitnessPeer], [String]) = ([], [])
        for (index, behaviour) in behaviours.enumerated() {
            let peer = try await Self.peer(index + 1, log: feed.log, behaviour: behaviour)
            peers.append(peer)
            lines.append(Self.line(index + 1, peer))
        }
        let heard = Heard()
        let three = try Self.policy(lines, quorum: 3)
        #expect(
            try await feed.resign(three, minute: 1, patience: Self.patience, heard: heard) == nil)
        #expect(heard.all["w1"] == .cosigned)
        for (name, sign) in [("w2", 1), ("w3", -1)] {
            guard case .clockDiffers(let ahead) = heard.all[name] else {
                Issue.record("\(name): \(String(describing: heard.all[name]))")
                continue
            }
            #expect(abs(ahead * Int64(sign) - 365 * 86_400) < 300)
        }
        // One line of each is kept, and nothing of anybody else.
        #expect(try feed.cosignatures() == 3)
        let error = try await feed.resign(
            try Self.policy(lines, quorum: 4), minute: 2, patience: Self.patience)
        guard case .witnesses(let refusal) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.kind == .noQuorum && refusal.reasons.count == 4, "\(refusal.reasons)")
        for (index, words) in [
            (0, "without a signature"), (2, "409 without a size"), (3, "without a signature"),
        ] { #expect(refusal.reasons[index].contains(words), "\(refusal.reasons[index])") }
    }

    @Test("one that says 422, by lying or by its own loss, is named and stops no quorum of others")
    func otherHistory() async throws {
        let feed = try Feed(5)
        var (peers, lines): ([WitnessPeer], [String]) = ([], [])
        for (index, behaviour) in ["status:422", "honest", "honest"].enumerated() {
            let peer = try await Self.peer(index + 1, log: feed.log, behaviour: behaviour)
            peers.append(peer)
            lines.append(Self.line(index + 1, peer))
        }
        let heard = Heard()
        let two = try Self.policy(lines, quorum: 2)
        #expect(
            try await feed.resign(two, minute: 1, patience: Self.patience, heard: heard) == nil)
        #expect(try feed.cosignatures() == 2 && feed.size() == 2)
        guard case .otherHistory = heard.all["w1"] else {
            Issue.record("\(String(describing: heard.all["w1"]))")
            return
        }
        let three = try Self.policy(lines, quorum: 3)
        guard
            case .witnesses(let refusal) = try await feed.resign(
                three, minute: 2, patience: Self.patience)
        else {
            Issue.record("published without a quorum")
            return
        }
        #expect(refusal.kind == .otherHistory && refusal.reasons.count == 1)
    }

    @Test("404, 403, 400 and 422 are told apart, and without a quorum 422 is what is said")
    func statuses() async throws {
        let feed = try Feed(3)
        let stranger = try Feed(4)
        let one = try await Self.peer(1, log: feed.log)
        let other = try await Self.peer(2, log: stranger.log)
        let bad = try await Self.peer(3, log: feed.log, behaviour: "status:400")
        let false403 = try await Self.peer(4, log: feed.log, behaviour: "status:403")
        let lines = [one, other, bad, false403].enumerated().map { Self.line($0 + 1, $1) }
        let error = try await feed.resign(
            try Self.policy(lines, quorum: 4), minute: 1, patience: Self.patience)
        guard case .witnesses(let refusal) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.kind == .noQuorum && refusal.reasons.count == 3)
        for (index, status) in [(0, "404"), (1, "400"), (2, "403")] {
            #expect(refusal.reasons[index].contains(status), "\(refusal.reasons[index])")
        }
        // Another history under the same key and name: a twin that starts again.
        let twin = try Feed(3)
        let policy = try Self.policy([Self.line(1, one)], quorum: 1)
        #expect(try await feed.resign(policy, minute: 2, patience: Self.patience) == nil)
        let late = try await twin.resign(policy, minute: 9, patience: Self.patience)
        guard case .witnesses(let stopped) = late else {
            Issue.record("\(String(describing: late))")
            return
        }
        #expect(stopped.kind == .otherHistory && stopped.reasons.count == 1)
        #expect(try twin.size() == 1)
    }

    @Test("a file of a policy: its faults, and witnesses that cannot be asked")
    func file() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/policy"
        #expect(throws: WitnessFile.Fault.self) { try WitnessFile.read(path) }
        let signer = NoteSigner(
            name: try #require(NoteKeyName("w.example")),
            key: SigningKey(seed: [UInt8](repeating: 9, count: 32).span))
        let key = signer.verifier(.cosignature).text
        for (text, isGood) in [
            ("witness a \(key) https://w.example/x\nquorum a\n", true),
            ("witness a \(key) http://127.0.0.1:8080\nquorum a\n", true),
            ("witness a \(key) http://w.example/x\nquorum a\n", false),
            ("witness a \(key) ftp://w.example/x\nquorum a\n", false),
            ("witness a \(key)\nquorum a\n", false), ("witness a \(key)\nquorum none\n", true),
            ("quorum a\n", false),
        ] {
            try Files.replace(path, with: Array(text.utf8).span)
            #expect(((try? WitnessFile.read(path)) != nil) == isGood, "\(text)")
        }
    }
}
