import Foundation
import WakeBytes
import WakeCrypto
import WakeFeed

/// The reader of a feed as phones have it, without libsodium: says of each feed of
/// `Vectors/peer.py` what a client without a past says, into a file `swift` beside its `result`.
///
///     phone-feed read DIRECTORY
@main
struct Main {
    static func main() throws {
        let words = CommandLine.arguments
        guard words.count == 3, words[1] == "read" else { throw Misuse() }
        for name in try FileManager.default.contentsOfDirectory(atPath: words[2]) {
            let folder = FeedFolder(path: words[2] + "/" + name)
            let result = try folder.read()
            try Data(result.utf8).write(to: URL(filePath: folder.path + "/swift"))
        }
    }

    private struct Misuse: Error {}
}

/// A feed's files, with a client's key and secrets.
private struct FeedFolder {
    let path: String

    /// An absent file is empty.
    private func file(_ name: String) -> [UInt8] {
        FileManager.default.contents(atPath: path + "/" + name).map { Array($0) } ?? []
    }

    private func secrets() -> [LocalSecret] {
        file("secrets").split(separator: UInt8(ascii: "\n")).enumerated().compactMap {
            let bytes = Hex.decode(Array($1).span) ?? []
            return LocalSecret(id: String($0), bytes: bytes.span)
        }
    }

    func read() throws -> String {
        guard let key = FeedKey(bytes: file("key")) else { throw NoKey() }
        let (head, secrets) = (file("head"), LocalSecretSet(secrets()))
        var lines = ["ok"]
        do throws(FeedError) {
            var cursor = FeedCursor(key: key)
            let verifier = HeadVerifier(cursor: cursor)
            let keys = verifier.needsKeys(for: head.span) ? file("keys") : nil
            let verified = try verifier.verify(head.span, keys: keys, now: 1_800_000_000)
            cursor = verified.cursor
            for planned in verified.plan {
                // A kill between any two batches changes nothing.
                guard let stored = FeedCursor(decoding: cursor.encode()) else { return "no cursor" }
                var reader = BatchReader(cursor: stored, head: verified, secrets: secrets)
                try reader.feed(file("b/" + planned.name).span)
                let batch = try reader.finish()
                cursor = batch.cursor
                lines += batch.matches.sorted { $0.secretID < $1.secretID }.map(Self.line)
            }
        } catch { return Self.name(error) }
        return lines.joined(separator: "\n")
    }

    private struct NoKey: Error {}

    private static func line(_ match: FeedMatch) -> String {
        let note = match.note.map { String(decoding: Hex.encode($0.span), as: UTF8.self) } ?? "-"
        return "\(match.sequence) \(match.secretID) \(match.matchID.text) \(note)"
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
