import Glibc
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

/// The arms of `bench client-matching`, in a process of its own, so that its peak memory is theirs:
/// hashing alone, what a client does with a batch, and the same with digests of 16 bytes. They read
/// files, in turns, a window at a time.
struct MatchingArms {
    enum Failure: Error {
        /// A hash, or what was found, is not what was published.
        case wrongResult
        case arguments
    }

    /// Bytes handed over at a time, as a client reads them.
    private static let window = 64 << 10

    private let key: FeedKey
    private let files: [OpenFile]
    /// Empty for a feed with notes.
    private let fixed: [OpenFile]
    private let head: VerifiedHead
    private let secrets: [LocalSecret]
    /// How many matches there must be.
    private let expected: Int
    private var hashSeconds = 0.0
    private var checkSeconds = 0.0
    private var fixedSeconds = 0.0

    /// `bench matching-arms DIRECTORY KEY SECRETS ROUNDS`: prints seconds of CPU of the arms for
    /// each round (0 for one that does not run), then the peak resident memory in bytes.
    static func run(_ arguments: [String]) -> Int32 {
        do {
            guard arguments.count == 4, let key = FeedKey(text: arguments[1]),
                let secrets = Int(arguments[2]), let rounds = Int(arguments[3])
            else { throw Failure.arguments }
            var arms = try MatchingArms(arguments[0], key, secrets: secrets)
            for round in 0...rounds {
                (arms.hashSeconds, arms.checkSeconds, arms.fixedSeconds) = (0, 0, 0)
                try arms.round(round)
                // The first one warms up.
                if round > 0 {
                    print("round \(arms.hashSeconds) \(arms.checkSeconds) \(arms.fixedSeconds)")
                }
            }
            print("peak \(ProcessStatus()?.peak ?? 0)")
            fflush(nil)
            return 0
        } catch {
            print("failed \(error)")
            return 1
        }
    }

    private init(_ directory: String, _ key: FeedKey, secrets count: Int) throws {
        let bytes = try FeedDirectory(directory).headFile()
        let head = try HeadVerifier(cursor: FeedCursor(key: key))
            .verify(bytes.span, now: Int64(time(nil)))
        files = try head.plan.map { try OpenFile("\(directory)/b/\($0.name)", flags: O_RDONLY) }
        let folder = directory + "/fixed"
        fixed =
            Files.exists(folder)
            ? try head.plan.map { try OpenFile("\(folder)/\($0.name)", flags: O_RDONLY) } : []
        self.key = key
        self.head = head
        secrets = (0..<count).map {
            LocalSecret(id: "\($0)", bytes: SecretBytes(PublishedFeed.secret($0)))
        }
        expected = min(count, PublishedFeed.planted)
    }

    /// The arms over every batch; who comes first changes, so that neither has the warmer caches.
    private mutating func round(_ number: Int) throws {
        // As in a cycle, which derives the digests of unsalted batches once.
        let start = Self.processorSeconds()
        let wanted = LocalSecretSet(secrets)
        checkSeconds += Self.processorSeconds() - start
        let fixedStart = Self.processorSeconds()
        let unsalted = fixed.isEmpty ? nil : FixedWidthTable(secrets, salt: nil)
        fixedSeconds += Self.processorSeconds() - fixedStart
        var fixedFound: [Int] = []
        var cursor = head.cursor
        var matches: [FeedMatch] = []
        for (index, file) in files.enumerated() {
            var hash: [UInt8]?
            if (index + number) % 2 == 0 { hash = try hashed(file) }
            if let unsalted, (index + number) % 2 == 0 {
                fixedFound += try checkedFixed(fixed[index], unsalted)
            }
            let batch = try checked(file, after: cursor, for: wanted)
            if try hash ?? hashed(file) != batch.header.payloadHash { throw Failure.wrongResult }
            if let unsalted, (index + number) % 2 != 0 {
                fixedFound += try checkedFixed(fixed[index], unsalted)
            }
            cursor = batch.cursor
            matches += batch.matches
            if batch.header.kind == .notes,
                !batch.matches.allSatisfy({ $0.note == PublishedFeed.note })
            {
                throw Failure.wrongResult
            }
        }
        guard Set(matches.map(\.secretID)) == Set((0..<expected).map(String.init)),
            matches.count == expected,
            fixed.isEmpty || fixedFound.sorted() == Array(0..<expected)
        else { throw Failure.wrongResult }
    }

    /// Signatures, hash, chain, order, search.
    private mutating func checked(
        _ file: OpenFile, after cursor: FeedCursor, for wanted: LocalSecretSet
    ) throws -> CommittedBatch {
        let start = Self.processorSeconds()
        defer { checkSeconds += Self.processorSeconds() - start }
        var reader = BatchReader(cursor: cursor, head: head, secrets: wanted)
        var offset = 0
        while true {
            let piece = try file.read(at: offset, count: Self.window)
            if piece.isEmpty { break }
            try reader.feed(piece.span)
            offset += piece.count
        }
        return try reader.finish()
    }

    /// The same of digests of 16 bytes; a salted batch has a table of its own.
    private mutating func checkedFixed(
        _ file: OpenFile, _ unsalted: FixedWidthTable
    ) throws -> [Int] {
        let start = Self.processorSeconds()
        defer { fixedSeconds += Self.processorSeconds() - start }
        let header = try file.read(at: 0, count: FeedLimits.headerBytes)
        let table =
            PublishedFeed.salt(ofHeader: header).map { FixedWidthTable(secrets, salt: $0) }
            ?? unsalted
        return try FixedWidthBatch.check(file, key: key, for: table, window: Self.window)
    }

    /// The yardstick: BLAKE2b-256 of the payload in the same windows, and nothing else.
    private mutating func hashed(_ file: OpenFile) throws -> [UInt8] {
        let start = Self.processorSeconds()
        defer { hashSeconds += Self.processorSeconds() - start }
        let hash = Blake2b()
        var offset = 0
        while true {
            let piece = try file.read(at: offset, count: Self.window)
            if piece.isEmpty { break }
            let header = offset == 0 ? FeedLimits.headerBytes : 0
            hash.update(piece.span.extracting(header..<piece.count))
            offset += piece.count
        }
        return hash.finish()
    }

    private static func processorSeconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
