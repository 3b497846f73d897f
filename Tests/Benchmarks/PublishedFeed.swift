import WakeFeed
import WakeFiles
import WakeModel
import WakeSodium

/// A feed of random digests in a temporary directory, made by the publisher itself and mapped into
/// memory, so that neither arm of the comparison copies a byte. The last batch holds the digests of
/// a few of the local secrets.
struct PublishedFeed {
    enum Failure: Error {
        /// A hash, or what was found, is not what was published.
        case wrongResult
        case tooManyDigests(limit: Int)
    }

    /// Digests of one batch, as the publisher splits by default.
    private static let batchDigests = PublishOptions().batchDigests
    /// Local secrets that are in the feed.
    static let planted = 10
    /// Bytes handed over at a time, as a client reads them.
    private static let window = 64 << 10

    let secrets: [LocalSecret]
    private let files: [MappedFile]
    private let head: VerifiedHead

    /// Digests in all batches, decoys included.
    var digests: Int {
        let headers = files.count * FeedLimits.headerBytes
        return (bytes - headers) / DigestWidth.standard.rawValue
    }
    /// Bytes of all batches, headers included.
    var bytes: Int { files.reduce(0) { $0 + $1.count } }
    var batches: Int { files.count }

    /// Publishes batch by batch, so that little is in memory at a time.
    init(directory: String, digests: Int, secrets count: Int, now: Int64) throws {
        let limit = (FeedLimits.retainedBatches - 1) * Self.batchDigests
        guard digests <= limit else { throw Failure.tooManyDigests(limit: limit) }
        let key = SigningKey(seed: Sodium.random(SigningKey.seedBytes).span)
        try FeedDirectory.create(directory, key: key, now: now)
        let publisher = FeedPublisher(directory: directory, key: key)
        let width = DigestWidth.standard
        for start in stride(from: 0, to: digests, by: Self.batchDigests) {
            let share = min(Self.batchDigests, digests - start)
            let random = Sodium.random(share * width.rawValue)
            let input = try FeedInput(
                digestsFrom: random, width: width, encoding: .raw(record: width.rawValue))
            _ = try publisher.publish(input, now: now)
        }
        let bytes = (0..<max(count, Self.planted)).map { _ in Sodium.random(32) }
        let planted = bytes.prefix(Self.planted).flatMap { $0 }
        let input = try FeedInput(secretsFrom: planted, encoding: .raw(record: 32))
        _ = try publisher.publish(input, now: now)
        secrets = bytes.enumerated().map { index, secret in
            LocalSecret(id: "\(index)", bytes: SecretBytes(secret))
        }
        let cursor = FeedCursor(key: FeedKey(key.verifyingKey))
        let headBytes = try FeedDirectory(directory).headBytes()
        head = try HeadVerifier(cursor: cursor).verify(headBytes.span, now: now)
        let largest = FeedLimits.headerBytes + FeedLimits.payloadBytes
        files = try head.plan.map { batch in
            try MappedFile(directory + "/b/" + batch.name, limit: largest)
        }
    }

    /// Verifies and searches every batch as a client does, and checks that the planted secrets and
    /// no others are found.
    /// - Returns: the payloads' hashes, as the signed headers name them.
    @discardableResult
    func check() throws -> [[UInt8]] {
        var cursor = head.cursor
        var found: [String] = []
        var hashes: [[UInt8]] = []
        for file in files {
            let batch = try file.withSpan { bytes throws(FeedError) in
                try read(bytes, after: cursor)
            }
            cursor = batch.cursor
            found += batch.matches.map(\.secretID)
            hashes.append(batch.header.payloadHash)
        }
        guard Set(found) == Set((0..<Self.planted).map(String.init)), found.count == Self.planted
        else { throw Failure.wrongResult }
        return hashes
    }

    private func read(
        _ bytes: Span<UInt8>, after cursor: FeedCursor
    ) throws(FeedError) -> CommittedBatch {
        var reader = BatchReader(cursor: cursor, head: head, secrets: secrets)
        var start = 0
        while start < bytes.count {
            let end = min(start + Self.window, bytes.count)
            try reader.feed(bytes.extracting(start..<end))
            start = end
        }
        return try reader.finish()
    }

    /// The yardstick: BLAKE2b-256 of every payload in the same windows, and nothing else.
    func hash(expecting hashes: [[UInt8]]) throws {
        for (file, expected) in zip(files, hashes) {
            let result = file.withSpan { bytes in
                let hash = Blake2b()
                var start = FeedLimits.headerBytes
                while start < bytes.count {
                    // The windows are those of the file, whose first one begins with the header.
                    let end = min((start / Self.window + 1) * Self.window, bytes.count)
                    hash.update(bytes.extracting(start..<end))
                    start = end
                }
                return hash.finish()
            }
            guard result == expected else { throw Failure.wrongResult }
        }
    }
}
