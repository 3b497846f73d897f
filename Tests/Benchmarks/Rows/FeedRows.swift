private import Glibc
import TestSupport
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

/// The feed: publishing, and a client's checks.
enum FeedRows {
    static let all: [Benchmark] = [
        publish, head,
        match(1, isSalted: false), match(1000, isSalted: false), match(1000, isSalted: true),
        match(10_000, isSalted: true),
    ]

    // MARK: Publishing

    private static let publish = Benchmark(
        "feed-publish", "a secret published: read, derived, coded, signed, on disk",
        unit: "secrets", sizes: Sizes(1_000_000, growth: 10_000), by: .processorTime
    ) { setting in
        let input = Sodium.random(setting.size * 32)
        return [
            Arm(.ours, "publisher") { _ in
                let place = StorePlace(in: setting.directory)
                let key = SigningKey(seed: Sodium.random(SigningKey.seedBytes).span)
                let now = Int64(time(nil))
                try FeedDirectory.create(place.path + "/feed", key: key, now: now)
                let watch = Stopwatch()
                let secrets = try FeedInput(secretsFrom: input, encoding: .raw(record: 32))
                _ = try FeedPublisher(directory: place.path + "/feed", key: key)
                    .publish(secrets, now: now)
                return Measurement(
                    operations: setting.size, seconds: watch.seconds,
                    processorSeconds: watch.processorSeconds)
            },
            Arm(.ceiling, "a hash each, sorting, hashing and writing 8 bytes each") { _ in
                let place = StorePlace(in: setting.directory)
                let watch = Stopwatch()
                var digests: [UInt64] = []
                digests.reserveCapacity(setting.size)
                for number in 0..<setting.size {
                    let secret = input.span.extracting(number * 32..<number * 32 + 32)
                    let hash = Blake2b.hash(secret, count: 16)
                    digests.append(hash.span.bigEndian(at: 0))
                }
                digests.sort()
                var bytes: [UInt8] = []
                bytes.reserveCapacity(digests.count * 8)
                for digest in digests { bytes.append(bigEndian: digest) }
                bytes += Blake2b.hash(bytes.span)
                try Files.create(place.path + "/digests", with: bytes.span)
                return Measurement(
                    operations: setting.size, seconds: watch.seconds,
                    processorSeconds: watch.processorSeconds)
            },
        ]
    }

    // MARK: A head

    private static let head = Benchmark(
        "feed-head", "a feed's head verified, and its proof that it is in the log",
        unit: "heads", sizes: Sizes(3000, growth: 100), by: .processorTime
    ) { setting in
        let place = StorePlace(in: setting.directory)
        let signing = SigningKey(seed: Sodium.random(SigningKey.seedBytes).span)
        let now = Int64(time(nil))
        let path = place.path + "/feed"
        let directory = FeedDirectory(path)
        try FeedDirectory.create(path, key: signing, now: now)
        let publisher = FeedPublisher(directory: path, key: signing)
        for _ in 0..<16 { try publisher.publishCover(now: now) }
        let key = FeedKey(signing.verifyingKey)
        let (head, bytes) = try directory.servedHead()
        let message = Array(head.dropLast(64))
        let signature = signing.sign(message.span)
        return [
            Arm(.ours, "client") { _ in
                let verifier = HeadVerifier(cursor: FeedCursor(key: key))
                return try repeated(setting.size) {
                    _ = try verifier.verify(head.span, now: now)
                    guard let proof = LogProof(bytes), proof.includes(MerkleTree.leaf(head.span))
                    else { throw BenchFailure("the head is not in the log") }
                }
            },
            Arm(.ceiling, "one Ed25519 verification of as many bytes") { _ in
                try repeated(setting.size) {
                    guard signing.verifyingKey.verifies(signature.span, of: message.span) else {
                        throw BenchFailure("a signature is false")
                    }
                }
            },
        ]
    }

    private static func repeated(
        _ count: Int, _ operation: () throws -> Void
    ) rethrows -> Measurement {
        let watch = Stopwatch()
        let start = Stopwatch.threadSeconds
        for _ in 0..<count { try operation() }
        return Measurement(
            operations: count, seconds: watch.seconds,
            processorSeconds: Stopwatch.threadSeconds - start)
    }

    // MARK: Matching

    private static func match(_ secrets: Int, isSalted: Bool) -> Benchmark {
        Benchmark(
            "feed-match-\(isSalted ? "salted-" : "")\(secrets)",
            "a digest of a feed\(isSalted ? " of salted batches" : "") verified and searched for "
                + "\(secrets == 1 ? "one secret" : "\(Figure.number(Double(secrets))) secrets")",
            unit: "digests", sizes: Sizes(2_000_000, full: 10_000_000, growth: 100_000),
            by: .processorTime
        ) { setting in
            let place = StorePlace(in: setting.directory)
            var shape = PublishedFeed.Shape()
            shape.digests = setting.size
            shape.isSalted = isSalted
            let feed = try PublishedFeed(directory: place.path + "/feed", shape: shape)
            let runs = MatchingRuns(place, feed, secrets: secrets)
            return [
                Arm(.ours, "client") { try runs.measurement($0, \.check) },
                Arm(.ceiling, "hashing the same bytes") { try runs.measurement($0, \.hash) },
                Arm(.peer, "digests of 16 bytes each") { try runs.measurement($0, \.fixed) },
            ]
        }
    }
}

/// Runs of `bench matching-arms`, each of which measures all arms of a round in turns.
private final class MatchingRuns {
    struct Seconds {
        let hash: Double
        let check: Double
        let fixed: Double
        let peak: Int
    }

    private let place: StorePlace
    private let feed: PublishedFeed
    private let secrets: Int
    private var last: (round: Int, seconds: Seconds)?

    init(_ place: StorePlace, _ feed: PublishedFeed, secrets: Int) {
        self.place = place
        self.feed = feed
        self.secrets = secrets
    }

    func measurement(_ round: Int, _ arm: KeyPath<Seconds, Double>) throws -> Measurement {
        let seconds: Seconds
        if let last, last.round == round {
            seconds = last.seconds
        } else {
            seconds = try run()
            last = (round, seconds)
        }
        // Rates are of one core, by CPU time.
        var measured = Measurement(
            operations: feed.digests, seconds: seconds[keyPath: arm],
            processorSeconds: seconds[keyPath: arm])
        measured.memory = arm == \Seconds.check ? seconds.peak : nil
        measured.bytes =
            arm == \Seconds.check ? Double(feed.bytes) / Double(feed.digests) : nil
        return measured
    }

    private func run() throws -> Seconds {
        let words = [
            CommandLine.arguments[0], "matching-arms", feed.directory, feed.key.text,
            "\(secrets)", "1",
        ]
        guard let process = MeasuredProcess(words) else {
            throw BenchFailure("the arms do not start")
        }
        let round = process.line(beginning: "round ")
        let peak = process.line(beginning: "peak ")
        let numbers = (round ?? "").split(separator: " ").dropFirst().compactMap { Double($0) }
        guard process.end().isSuccess, numbers.count == 3 else {
            throw BenchFailure("the arms failed")
        }
        let bytes = peak.flatMap { Int($0.dropFirst(5)) } ?? 0
        return Seconds(hash: numbers[0], check: numbers[1], fixed: numbers[2], peak: bytes)
    }
}
