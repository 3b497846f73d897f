import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

/// Random feeds, half of them damaged, of this module and of `Vectors/peer.py`, which was written
/// from Policy/FEED.md alone: both must say the same of each, error by error.
@Suite(
    "A publisher and a client in Python, from the document alone",
    .enabled(if: PythonScript.has("cryptography"), "needs python3 with the cryptography package"),
    // A child that is just being made shares the lock of a feed that is published meanwhile.
    .serialized, .timeLimit(.minutes(20)))
struct PythonPeerTests {
    private static let count =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 300 : 20_000
    /// Feeds that lie on the disk at a time.
    private static let tranche = 1000

    private static let peer =
        URL(filePath: #filePath).deletingLastPathComponent().path + "/Vectors/peer.py"

    private func python(_ words: String...) async throws {
        let (status, output) = try await RunningProgram.run(
            path: "/usr/bin/env", ["python3", "-B", Self.peer] + words)
        guard status == 0 else { throw TestFailure(output) }
    }

    @Test("what Python publishes is read alike here and there")
    func published() async throws {
        var seen: [String: Int] = [:]
        for start in stride(from: 0, to: Self.count, by: Self.tranche) {
            let directory = try TemporaryDirectory()
            let count = min(Self.tranche, Self.count - start)
            try await python("publish", String(start), String(count), directory.path)
            for number in 0..<count {
                let folder = directory.path + "/\(number)"
                let expected = try String(contentsOfFile: folder + "/result", encoding: .utf8)
                let ours = try Self.result(folder)
                #expect(ours == expected, "feed \(number) of \(start)")
                seen[String(expected.prefix { $0 != "\n" }), default: 0] += 1
            }
        }
        // Neither all refused nor all accepted, nor for a few reasons only.
        #expect(seen["ok", default: 0] > Self.count / 2 && seen.count > 9, "\(seen)")
    }

    @Test("what is published here is read alike there")
    func read() async throws {
        var random = SplitMix64(seed: 17)
        var seen: [String: Int] = [:]
        for start in stride(from: 0, to: Self.count, by: Self.tranche) {
            let directory = try TemporaryDirectory()
            let count = min(Self.tranche, Self.count - start)
            for number in 0..<count {
                let feed = try RandomFeed(&random, directory.path + "/\(number)")
                if number % 2 == 1 { try feed.damage(&random) }
            }
            try await python("read", directory.path)
            for number in 0..<count {
                let folder = directory.path + "/\(number)"
                let theirs = try String(contentsOfFile: folder + "/result", encoding: .utf8)
                let ours = try Self.result(folder)
                #expect(ours == theirs, "feed \(number) of \(start)")
                seen[String(theirs.prefix { $0 != "\n" }), default: 0] += 1
            }
        }
        #expect(seen["ok", default: 0] > Self.count / 2 && seen.count > 6, "\(seen)")
    }

    /// What a client without a past says of a feed.
    private static func result(_ folder: String) throws -> String {
        func file(_ name: String) throws -> [UInt8] {
            FileManager.default.fileExists(atPath: folder + "/" + name)
                ? try Files.read(folder + "/" + name, limit: 8 << 20) : []
        }
        let key = try FeedKey(#require(VerifyingKey(file("key"))))
        let secrets = try String(contentsOfFile: folder + "/secrets", encoding: .utf8)
            .split(separator: "\n").enumerated().map { index, line in
                LocalSecret(
                    id: String(index),
                    bytes: SecretBytes(Hex.decode(Array(line.utf8).span) ?? []))
            }
        let (head, keys) = (try file("head"), try file("keys"))
        var lines = ["ok"]
        do throws(FeedError) {
            var verified = try HeadVerifier(cursor: FeedCursor(key: key)).verify(
                head.span, keys: keys, now: TemporaryFeed.now)
            for planned in verified.plan {
                let bytes = (try? file("b/" + planned.name)) ?? []
                let batch = try readBatch(
                    bytes, cursor: verified.cursor, head: verified, secrets: secrets)
                lines += batch.matches.sorted { $0.secretID < $1.secretID }.map { match in
                    let note = match.note.map { Self.hex($0) } ?? "-"
                    return "\(planned.sequence) \(match.secretID) \(match.matchID.text) \(note)"
                }
                verified = VerifiedHead(
                    head: verified.head, cursor: batch.cursor, warnings: [], freshness: .current)
            }
        } catch { return Self.name(error) }
        return lines.joined(separator: "\n")
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        String(decoding: Hex.encode(bytes.span), as: UTF8.self)
    }

    /// As section 9 of Policy/FEED.md has it.
    private static func name(_ error: FeedError) -> String {
        switch error {
        case .rollback: "rollback"
        case .fork: "fork"
        case .malformedHead(let fault): "malformedHead(\(fault))"
        case .corruptBatch(let fault): "corruptBatch(\(fault))"
        default: "\(error)"
        }
    }
}

/// A feed of this module, of random shape.
private struct RandomFeed {
    private let folder: String
    /// In the order in which they signed.
    private let keys: [SigningKey]

    init(_ random: inout SplitMix64, _ folder: String) throws {
        self.folder = folder
        keys = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            SigningKey(seed: Self.bytes(32, &random).span)
        }
        let now = TemporaryFeed.now
        try FeedDirectory.create(folder, key: keys[0], now: now)
        let secrets = (0..<4).map { _ in
            Self.bytes(Int.random(in: 16...64, using: &random), &random)
        }
        for (index, key) in keys.enumerated() {
            let publisher = FeedPublisher(directory: folder, key: key)
            if index > 0 { try publisher.succeed(keys[index - 1], now: now) }
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let note = Bool.random(using: &random) ? "note \(random.next())" : nil
                let chosen = secrets.filter { _ in Bool.random(using: &random) }.prefix(2)
                let lines = (chosen + [Self.bytes(32, &random)]).flatMap {
                    Hex.encode($0.span) + [UInt8(ascii: "\n")]
                }
                let budget = FalseMatchBudget(bits: Int.random(in: 40...54, using: &random))
                _ = try publisher.publish(
                    FeedInput(secretsFrom: lines, notes: note.map { Array($0.utf8) }),
                    options: PublishOptions(
                        budget: budget ?? .standard, isSalted: Bool.random(using: &random),
                        noteBytes: note == nil ? 0 : Int.random(in: 80...99, using: &random)),
                    now: now)
            }
        }
        let configured = keys.randomElement(using: &random) ?? keys[0]
        try write(configured.verifyingKey.bytes, "key")
        try write(
            Array(secrets.map { Hex.encode($0.span) }.joined(separator: [UInt8(ascii: "\n")])),
            "secrets")
    }

    private static func bytes(_ count: Int, _ random: inout SplitMix64) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        try Data(bytes).write(to: URL(filePath: folder + "/" + name))
    }

    /// Something that happens to files, or a change that somebody with a key of the feed signs.
    func damage(_ random: inout SplitMix64) throws {
        let batches = try Files.names(in: folder + "/b").sorted().map { "b/" + $0 }
        let name = (["head", "keys"] + batches).randomElement(using: &random) ?? "head"
        var bytes = try Files.read(folder + "/" + name, limit: 8 << 20)
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let key = keys.randomElement(using: &random) ?? keys[0]
        switch Int.random(in: 0...4, using: &random) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 1: bytes.removeLast(bytes.count - place)
        case 2: bytes += Self.bytes(Int.random(in: 1...400, using: &random), &random)
        case 3 where name == "head":
            let field = Int.random(
                in: 0..<(Bool.random(using: &random) ? 128 : 256), using: &random)
            let value = Self.bytes(1, &random)[0]
            bytes = Forge.head(bytes, with: key) { $0[field] = value }
        case 3...4 where name.hasPrefix("b/"):
            let field = Int.random(in: 0..<184, using: &random)
            let value = Self.bytes(1, &random)[0]
            bytes = Forge.batch(bytes, with: key) { $0[field] = value }
            if name == batches.last, Bool.random(using: &random) {
                // The newest batch, and a head that names it.
                let head = try Files.read(folder + "/head", limit: FeedLimits.headFileBytes)
                try write(Forge.head(head, naming: bytes, with: keys[keys.count - 1]), "head")
                let hash = HeaderHash(ofHeader: bytes.span.extracting(0..<256))
                let number = name.prefix { $0 != "-" }
                try write(bytes, number + "-" + Self.hex(hash.suffix.bytes))
                return
            }
        default:
            bytes = Self.bytes(
                [0, 100, 256, 4096, 13_000].randomElement(using: &random) ?? 0, &random)
        }
        try write(bytes, name)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        String(decoding: Hex.encode(bytes.span), as: UTF8.self)
    }
}
