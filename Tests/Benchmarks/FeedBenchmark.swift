private import Glibc
import TestSupport

/// What checking a feed costs beside hashing it, which no client can do without.
enum FeedBenchmark {
    private static let help = """
        usage: bench feed [--digests 1000000] [--secrets 1000] [--rounds 15] [--directory DIR]

        Publishes that many random digests of 16 bytes, then in each round, in turns: BLAKE2b-256
        alone over the batches in windows of 64 KiB, and the whole check of them, signatures,
        hashes, order and search for the local secrets. The first round warms up.
        """

    static func run(_ arguments: [String]) -> Int32 {
        let options = Options(arguments, known: ["digests", "secrets", "rounds", "directory"])
        guard options.unknown == nil else {
            print(help)
            return options.unknown == "--help" ? 0 : 2
        }
        do {
            try compare(options)
            return 0
        } catch {
            print("bench: \(error)")
            return 1
        }
    }

    private static func compare(_ options: Options) throws {
        let place = StorePlace(in: options["directory"] ?? "/var/tmp")
        let secrets = options.number("secrets", default: 1000)
        let rounds = options.number("rounds", default: 15)
        let publishing = Stopwatch()
        let feed = try PublishedFeed(
            directory: place.path + "/feed",
            digests: options.number("digests", default: 1_000_000), secrets: secrets,
            now: Int64(time(nil)))
        print(
            "\(feed.digests) digests in \(feed.batches) batches, \(feed.bytes) bytes, "
                + "published in \(tenths(publishing.seconds)) s")
        print("\(feed.secrets.count) local secrets, \(PublishedFeed.planted) of them in the feed")
        // Every page of the files is resident from here on, and no growth of either arm.
        let hashes = try feed.check()
        var table = FeedTable(digests: feed.digests, bytes: feed.bytes)
        for round in 0...rounds {
            // Who is first changes, so that neither arm has the warmer caches.
            var hash: Measurement?
            if round % 2 == 0 { hash = try measure(feed) { try feed.hash(expecting: hashes) } }
            let isReset = ProcessStatus.forgetPeak()
            let before = ProcessStatus()
            let check = try measure(feed) { try feed.check() }
            let after = ProcessStatus()
            let alone = try hash ?? measure(feed) { try feed.hash(expecting: hashes) }
            guard round > 0 else { continue }
            var growth: Int?
            if isReset, let before, let after { growth = after.peak - before.resident }
            table.add(FeedTable.Round(hash: alone, check: check, growth: growth))
        }
        for line in table.lines { print(line) }
        fflush(nil)
    }

    private static func measure(
        _ feed: PublishedFeed, _ work: () throws -> Void
    ) rethrows -> Measurement {
        let watch = Stopwatch()
        try work()
        return Measurement(
            operations: feed.digests, seconds: watch.seconds,
            processorSeconds: watch.processorSeconds)
    }
}

/// The medians of several rounds.
private struct FeedTable {
    struct Round {
        let hash: Measurement
        let check: Measurement
        /// Bytes the check's peak resident memory lay over what was resident before; nil when the
        /// kernel does not say.
        let growth: Int?
    }

    let digests: Int
    let bytes: Int
    private var rounds: [Round] = []

    init(digests: Int, bytes: Int) {
        self.digests = digests
        self.bytes = bytes
    }

    mutating func add(_ round: Round) {
        rounds.append(round)
    }

    var lines: [String] {
        let ratios = rounds.map { $0.check.rate / $0.hash.rate }.sorted()
        let growth = rounds.compactMap(\.growth).max()
        return [
            "median of \(rounds.count) rounds",
            line("BLAKE2b-256 alone", rounds.map(\.hash)),
            line("verify and match", rounds.map(\.check)),
            "  ratio              \(percent(median(ratios))) % of hashing alone "
                + "(\(percent(ratios.first ?? 0)) to \(percent(ratios.last ?? 0)) %)",
            "  peak RSS growth    " + (growth.map { "\($0 / 1024) KiB" } ?? "unknown"),
        ]
    }

    private func line(_ name: String, _ arms: [Measurement]) -> String {
        let rate = median(arms.map(\.rate))
        let processor = median(arms.compactMap(\.processorSeconds))
        let megabytes = rate * Double(bytes) / Double(digests) / 1e6
        return "  \(name)\(String(repeating: " ", count: 19 - name.count))"
            + "\(tenths(rate / 1e6)) M digests/s (\(Int(megabytes)) MB/s), "
            + "\(tenths(processor * 1e3)) ms CPU, "
            + "\(tenths(processor / Double(digests) * 1e9)) ns each"
    }

    private func percent(_ share: Double) -> String { tenths(share * 100) }
}
