private import Glibc
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

/// Publishing a batch, and what a client does with a head and with batches.
enum FeedPaths {
    private static let now: Int64 = 1_800_000_000
    private static let digests = 8192
    private static let secrets = 1000

    static func all(in directory: String) throws -> [HotPath] {
        let signing = SigningKey(seed: FixedBytes.make(32, seed: 2).span)
        let input = FixedBytes.make(digests * 32, seed: 3)
        let local = (0..<secrets).map { number in
            let bytes = FixedBytes.make(32, seed: UInt64(10_000 + number))
            return LocalSecret(id: "\(number)", bytes: SecretBytes(bytes))
        }
        var publications = 0
        let publish = HotPath(name: "feed-publish", count: digests) {
            publications += 1
            let path = "\(directory)/feed-\(publications)"
            try FeedDirectory.create(path, key: signing, now: now)
            try make(path, signing, input, isSalted: false)
        }
        return [publish]
            + (try head(directory + "/head", signing, input))
            + (try match(
                "feed-match", directory + "/plain", signing, input, local, isSalted: false))
            + (try match(
                "feed-match-salted", directory + "/salted", signing, input, local, isSalted: true))
    }

    private static func make(
        _ path: String, _ signing: SigningKey, _ input: [UInt8], isSalted: Bool
    ) throws {
        let options = PublishOptions(
            isSalted: isSalted, batchDigests: digests, minimumDigests: digests)
        _ = try FeedPublisher(directory: path, key: signing, random: FixedBytes.source(seed: 4))
            .publish(
                try FeedInput(secretsFrom: input, encoding: .raw(record: 32)), options: options,
                now: now)
    }

    private static func head(
        _ path: String, _ signing: SigningKey, _ input: [UInt8]
    ) throws -> [HotPath] {
        try FeedDirectory.create(path, key: signing, now: now)
        try make(path, signing, input, isSalted: false)
        let bytes = try FeedDirectory(path).headFile()
        let verifier = HeadVerifier(cursor: FeedCursor(key: FeedKey(signing.verifyingKey)))
        return [
            HotPath(name: "feed-head", count: 10) {
                for _ in 0..<10 { _ = try verifier.verify(bytes.span, now: now) }
            }
        ]
    }

    private static func match(
        _ name: String, _ path: String, _ signing: SigningKey, _ input: [UInt8],
        _ local: [LocalSecret], isSalted: Bool
    ) throws -> [HotPath] {
        try FeedDirectory.create(path, key: signing, now: now)
        try make(path, signing, input, isSalted: isSalted)
        let cursor = FeedCursor(key: FeedKey(signing.verifyingKey))
        let bytes = try FeedDirectory(path).headFile()
        let head = try HeadVerifier(cursor: cursor).verify(bytes.span, now: now)
        guard let planned = head.plan.first else { throw WrongResult() }
        let batch = try OpenFile("\(path)/b/\(planned.name)", flags: O_RDONLY)
            .read(at: 0, count: 1 << 20)
        return [
            HotPath(name: name, count: digests) {
                var reader = BatchReader(
                    cursor: cursor, head: head, secrets: LocalSecretSet(local))
                try reader.feed(batch.span)
                guard try reader.finish().matches.isEmpty else { throw WrongResult() }
            }
        ]
    }
}
