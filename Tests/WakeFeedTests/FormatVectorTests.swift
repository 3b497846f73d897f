import Glibc
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Format vectors")
struct FormatVectorTests {
    private static var folder: String {
        let file = #filePath
        return (Files.parent(of: file) ?? ".") + "/Vectors"
    }

    private static let seed = (0..<32).map { UInt8($0) }
    private static let successor = SigningKey(seed: [UInt8](32..<64).span)
    private static let secrets = [1, 2, 3].map { [UInt8](repeating: $0, count: 32) }
    private static let notes = "first\n\ndritte Zeile – ü\n"

    private static func vector(_ name: String) throws -> [UInt8] {
        try Files.read(folder + "/" + name, limit: 1 << 20)
    }

    private static func localSecrets() -> [LocalSecret] {
        secrets.enumerated().map { LocalSecret(id: "\($0)", bytes: SecretBytes($1)) }
    }

    @Test("the publisher makes the checked-in files again, byte for byte")
    func regenerates() throws {
        let feed = try TemporaryFeed(creating: false)
        let key = SigningKey(seed: Self.seed.span)
        try FeedDirectory.create(feed.directory, key: key, now: TemporaryFeed.now)
        let publisher = FeedPublisher(
            directory: feed.directory, key: key, random: Sample.stream("vectors"))
        let lines = Self.secrets.flatMap { Hex.encode($0.span) + [UInt8(ascii: "\n")] }
        let plain = try FeedInput(secretsFrom: lines)
        _ = try publisher.publish(
            plain, options: PublishOptions(isSalted: false), now: TemporaryFeed.now)
        let noted = try FeedInput(secretsFrom: lines, notes: Array(Self.notes.utf8))
        let budget = try #require(FalseMatchBudget(bits: 40))
        _ = try publisher.publish(
            noted, options: PublishOptions(budget: budget, noteBytes: 64), now: TemporaryFeed.now)

        let names = try Files.names(in: Self.folder + "/b").sorted()
        #expect(names.count == 2)
        #expect(try feed.batchNames() == names)
        for name in names {
            #expect(try feed.batchBytes(name) == Self.vector("b/" + name))
        }
        #expect(try feed.headBytes() == Self.vector("head"))
        let directory = FeedDirectory(feed.directory)
        #expect(try directory.keysBytes() == Self.vector("keys"))

        let heir = FeedPublisher(directory: feed.directory, key: Self.successor)
        try heir.succeed(key, now: TemporaryFeed.now)
        #expect(try feed.headBytes() == Self.vector("succeeded/head"))
        #expect(try directory.keysBytes() == Self.vector("succeeded/keys"))
    }

    @Test("a client finds in the checked-in files what `expected` says")
    func matches() throws {
        let key = FeedKey(SigningKey(seed: Self.seed.span).verifyingKey)
        let report = try FeedDirectory(Self.folder).verify(
            key, secrets: Self.localSecrets(), now: TemporaryFeed.now)
        #expect(report.batches == 2 && report.digests == 2048 && report.matches.count == 6)
        let lines = String(decoding: try Self.vector("expected"), as: UTF8.self)
            .split(separator: "\n").map(String.init)
        var seen = [
            "key " + hex(key.bytes), "feed " + key.feedID.text,
            "successor " + hex(Self.successor.verifyingKey.bytes),
        ]
        let words = try Self.vector("head")
        let head = try HeadVerifier(cursor: FeedCursor(key: key)).verify(
            words.span, now: TemporaryFeed.now)
        for planned in head.plan {
            let bytes = try Self.vector("b/" + planned.name)
            let hash = Blake2b.hash(bytes.span.extracting(0..<256))
            seen.append("batch \(planned.sequence) " + hex(hash))
        }
        for match in report.matches where match.secretID == "0" {
            seen.append("match \(match.matchID.text) " + (match.note.map(hex) ?? "-"))
        }
        #expect(seen == lines)
    }

    private func hex(_ bytes: [UInt8]) -> String {
        String(decoding: Hex.encode(bytes.span), as: UTF8.self)
    }

    @Test(
        "independent implementations make the same files, and read them from the document alone",
        .enabled("needs python3 with the cryptography package") { pythonIsReady() },
        arguments: ["make.py", "verify.py", "pasts.py"])
    func pythonAgrees(program: String) throws {
        let words = program == "pasts.py" ? "check '\(Self.folder)/pasts'" : ""
        #expect(run("exec python3 -B '\(Self.folder)/\(program)' \(words) >/dev/null") == 0)
    }
}

private func pythonIsReady() -> Bool {
    run("exec python3 -c 'import cryptography' 2>/dev/null") == 0
}

/// Runs a shell command and waits for it.
private func run(_ command: String) -> Int32 {
    unsafe system(command)
}
