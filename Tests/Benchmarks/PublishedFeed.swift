import Glibc
import WakeFeed
import WakeModel
import WakeSodium
import WakeSystem

/// A feed of random digests in a directory, made by the publisher itself. The last batch holds the
/// digests of a few of the local secrets.
struct PublishedFeed {
    /// What the batches look like.
    struct Shape {
        var digests = 10_000_000
        var width = DigestWidth.standard
        var isSalted = false
        /// Bytes of a sealed note; 0 for none.
        var noteBytes = 0
        var batchDigests = 65_536

        /// As many digests a batch as were asked for, or as fit with their notes.
        var options: PublishOptions {
            let rows = FeedLimits.payloadBytes / (width.rawValue + noteBytes)
            let count = min(batchDigests, rows) / 1024 * 1024
            return PublishOptions(
                width: width, isSalted: isSalted, noteBytes: noteBytes, batchDigests: count,
                minimumDigests: count)
        }

        var text: String {
            "\(width.rawValue) bytes, \(isSalted ? "salted" : "unsalted"), "
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
    }

    /// 32 bytes, the same in every process.
    static func secret(_ number: Int) -> [UInt8] {
        let word = Array("secret \(number)".utf8)
        return Blake2b.hash(word.span)
    }
}
