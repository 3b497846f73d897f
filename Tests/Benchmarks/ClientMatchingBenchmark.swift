private import Glibc
import TestSupport
import WakeFeed

/// What a client's check of a feed costs, in bytes and time, beside hashing it, which no client can
/// do without, and beside digests that are not coded.
enum ClientMatchingBenchmark {
    private static let help = """
        usage: bench client-matching [--digests 10000000] [--rounds 5] [--secrets 1,1000,10000]
               [--bits 40...54] [--batch 65536] [--notes BYTES] [--salted] [--all]
               [--directory DIR]

        Publishes that many random digests, unsalted and then salted (--salted: the latter alone).
        Then, in a process of its own for each number of local secrets, the arms over every batch in
        turns: BLAKE2b-256 alone; the whole check, signatures, hash, chain, code and search; and the
        same of as many digests of 16 bytes, without their notes, in windows of 64 KiB read from
        files. Rates are of one core, by CPU time, medians of the rounds. --all goes through
        false-match bits, notes and large batches, with a tenth of the digests.

        """

    static func run(_ arguments: [String]) -> Int32 {
        let options = Options(
            arguments,
            known: ["digests", "rounds", "secrets", "bits", "batch", "notes", "directory"],
            flags: ["salted", "all"])
        guard options.unknown == nil, let shapes = shapes(options) else {
            print(help, terminator: "")
            return options.unknown == "--help" ? 0 : 2
        }
        do {
            for shape in shapes { try compare(shape, options) }
            return 0
        } catch {
            print("bench: \(error)")
            return 1
        }
    }

    private static func shapes(_ options: Options) -> [PublishedFeed.Shape]? {
        var shape = PublishedFeed.Shape()
        shape.digests = options.number("digests", default: shape.digests)
        shape.batchDigests = options.number("batch", default: shape.batchDigests)
        shape.noteBytes = options.number("notes", default: 0)
        guard let budget = FalseMatchBudget(bits: options.number("bits", default: 48)),
            shape.batchDigests >= FeedLimits.digestMultiple
        else { return nil }
        shape.budget = budget
        var shapes: [PublishedFeed.Shape] = []
        if options.isSet("all") {
            shape.digests /= 10
            for budget in [44, 48, 52].compactMap(FalseMatchBudget.init) {
                for (batch, notes) in [(65_536, 0), (262_144, 0), (65_536, 64)] {
                    shape.budget = budget
                    shape.batchDigests = batch
                    shape.noteBytes = notes
                    shapes.append(shape)
                }
            }
        } else {
            shapes = [shape]
        }
        let salts = options.isSet("salted") ? [true] : [false, true]
        return shapes.flatMap { shape in
            salts.map { isSalted in
                var shape = shape
                shape.isSalted = isSalted
                return shape
            }
        }
    }

    private static func compare(_ shape: PublishedFeed.Shape, _ options: Options) throws {
        let place = StorePlace(in: options["directory"] ?? "/var/tmp")
        let feed = try PublishedFeed(directory: place.path + "/feed", shape: shape)
        let each = Double(feed.bytes) / Double(feed.digests)
        print(
            "\(feed.digests) digests in \(feed.batches) batches: \(shape.text); "
                + "\(tenths(Double(feed.bytes) / 1e6)) MB, \(tenths(each)) bytes each")
        let counts = (options["secrets"] ?? "1,1000,10000").split(separator: ",")
        let rounds = options.number("rounds", default: 5)
        for count in counts.compactMap({ Int($0) }) {
            let words = [
                "/proc/self/exe", "matching-arms", feed.directory, feed.key.text, "\(count)",
                "\(rounds)",
            ]
            guard let process = MeasuredProcess(words) else { throw Failure.notStarted }
            var table = Table(digests: feed.digests)
            while let line = process.line() { try table.take(line) }
            guard process.end().isSuccess else { throw Failure.failed }
            print(table.line(secrets: count))
            fflush(nil)
        }
    }

    private enum Failure: Error {
        case notStarted
        case failed
        case said(String)
    }

    /// What the process with both arms said.
    private struct Table {
        let digests: Int
        private var rounds: [(hash: Double, check: Double, fixed: Double)] = []
        private var peak = 0

        init(digests: Int) {
            self.digests = digests
        }

        mutating func take(_ line: String) throws {
            let words = line.split(separator: " ")
            switch words.first {
            case "round" where words.count == 4:
                guard let hash = Double(words[1]), let check = Double(words[2]),
                    let fixed = Double(words[3])
                else { break }
                rounds.append((hash, check, fixed))
                return
            case "peak" where words.count == 2:
                peak = Int(words[1]) ?? 0
                return
            default: break
            }
            throw Failure.said(line)
        }

        func line(secrets: Int) -> String {
            let million = Double(digests) / 1e6
            var line =
                "  \(secrets) secrets: hash \(tenths(median(rounds.map { million / $0.hash }))), "
                + "hash and match \(tenths(median(rounds.map { million / $0.check }))) "
                + "M digests/s, \(Self.spread(rounds.map { $0.hash / $0.check * 100 })) %; "
            if rounds.allSatisfy({ $0.fixed > 0 }) {
                line +=
                    "of 16 bytes \(tenths(median(rounds.map { million / $0.fixed }))) M/s, "
                    + "\(Self.spread(rounds.map { $0.fixed / $0.check })) times that; "
            }
            return line + "peak RSS \(tenths(Double(peak) / 1_048_576)) MiB"
        }

        /// The median, the least and the most.
        private static func spread(_ ratios: [Double]) -> String {
            let (least, most) = (ratios.min() ?? 0, ratios.max() ?? 0)
            return "\(hundredths(median(ratios))) (\(hundredths(least)) to \(hundredths(most)))"
        }
    }
}
