import Glibc
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

/// A feed of random digests in a directory, made by the publisher itself. The last batch holds the
/// digests of a few of the local secrets.
struct PublishedFeed {
    /// What the batches look like.
    struct Shape {
        var digests = 10_000_000
        var budget = FalseMatchBudget.standard
        var isSalted = false
        /// Bytes of a sealed note; 0 for none.
        var noteBytes = 0
        var batchDigests = 65_536

        /// As many digests a batch as were asked for, or as fit with their notes.
        var options: PublishOptions {
            let rows = FeedLimits.payloadBytes * 8 / (budget.bits + 2 + noteBytes * 8)
            let count = min(batchDigests, rows, 1 << (64 - budget.bits)) / 1024 * 1024
            return PublishOptions(
                budget: budget, isSalted: isSalted, noteBytes: noteBytes, batchDigests: count,
                minimumDigests: count)
        }

        var text: String {
            "2^-\(budget.bits), \(isSalted ? "salted" : "unsalted"), "
                + (noteBytes > 0 ? "notes of \(noteBytes), " : "")
                + "\(options.batchDigests) a batch"
        }
    }

    enum Failure: Error {
        case tooManyDigests(limit: Int)
    }

    /// Local secrets that are in the feed, the first of `secret(_:)`.
    static let planted = 10
    /// What the publisher wrote for their holders.
    static let note = Array("see you".utf8)

    let directory: String
    let key: FeedKey
    /// Digests in all batches, decoys included.
    let digests: Int
    let batches: Int
    /// Of all batches, headers included.
    let bytes: Int

    /// Publishes batch by batch, so that little is in memory at a time.
    init(directory: String, shape: Shape) throws {
        let options = shape.options
        let count = max(1, (shape.digests + options.batchDigests - 1) / options.batchDigests)
        guard count <= FeedLimits.retainedBatches else {
            throw Failure.tooManyDigests(limit: FeedLimits.retainedBatches * options.batchDigests)
        }
        let signing = SigningKey(seed: Sodium.random(SigningKey.seedBytes).span)
        let now = Int64(time(nil))
        try FeedDirectory.create(directory, key: signing, now: now)
        let publisher = FeedPublisher(directory: directory, key: signing)
        for _ in 1..<count { try publisher.publishCover(options: options, now: now) }
        let planted = (0..<Self.planted).flatMap(Self.secret)
        let input = try FeedInput(
            secretsFrom: planted, notes: shape.noteBytes > 0 ? Self.note : nil,
            encoding: .raw(record: 32))
        _ = try publisher.publish(input, options: options, now: now)
        self.directory = directory
        key = FeedKey(signing.verifyingKey)
        digests = count * options.batchDigests
        batches = count
        let head = try FeedDirectory(directory).head(key)
        bytes = Int(head.retainedBytes)
        if shape.noteBytes == 0 { try writeFixedWidth(head, options: options) }
    }

    /// As many digests of 16 bytes beside each batch.
    private func writeFixedWidth(_ head: FeedHead, options: PublishOptions) throws {
        try Files.makeDirectory(directory + "/fixed")
        let planted = (0..<Self.planted).map {
            LocalSecret(id: "\($0)", bytes: SecretBytes(Self.secret($0)))
        }
        for sequence in head.firstSequence...head.sequence {
            guard let name = head.batchName(for: sequence) else { continue }
            let header = try OpenFile("\(directory)/b/\(name)", flags: O_RDONLY)
                .read(at: 0, count: FeedLimits.headerBytes)
            try FixedWidthBatch.write(
                "\(directory)/fixed/\(name)", beside: header, count: options.batchDigests,
                salt: Self.salt(ofHeader: header),
                secrets: sequence == head.sequence ? planted : [])
        }
    }

    /// Bytes 48 to 63 of a header.
    static func salt(ofHeader header: [UInt8]) -> BatchSalt? { BatchSalt(Array(header[48..<64])) }

    /// 32 bytes, the same in every process.
    static func secret(_ number: Int) -> [UInt8] {
        let word = Array("secret \(number)".utf8)
        return Blake2b.hash(word.span)
    }
}
