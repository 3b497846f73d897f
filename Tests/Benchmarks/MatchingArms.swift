import Glibc
import WakeFeed
import WakeModel
import WakeSodium
import WakeSystem

/// The two arms of `bench client-matching`, in a process of its own, so that its peak memory is
/// theirs: hashing alone, and what a client does with a batch. Both read the same files, in turns,
/// a window at a time.
struct MatchingArms {
    enum Failure: Error {
        /// A hash, or what was found, is not what was published.
        case wrongResult
        case arguments
    }

    /// Bytes handed over at a time, as a client reads them.
    private static let window = 64 << 10

    private let files: [OpenFile]
    private let head: VerifiedHead
    private let secrets: [LocalSecret]
    /// How many matches there must be.
    private let expected: Int
    private var hashSeconds = 0.0
    private var checkSeconds = 0.0

    /// `bench matching-arms DIRECTORY KEY SECRETS ROUNDS`: prints seconds of CPU of both arms for
    /// each round, then the peak resident memory in bytes.
    static func run(_ arguments: [String]) -> Int32 {
        do {
            guard arguments.count == 4, let key = FeedKey(text: arguments[1]),
                let secrets = Int(arguments[2]), let rounds = Int(arguments[3])
            else { throw Failure.arguments }
            var arms = try MatchingArms(arguments[0], key, secrets: secrets)
            for round in 0...rounds {
                (arms.hashSeconds, arms.checkSeconds) = (0, 0)
                try arms.round(round)
                // The first one warms up.
                if round > 0 { print("round \(arms.hashSeconds) \(arms.checkSeconds)") }
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
        let bytes = try FeedDirectory(directory).headBytes()
        let head = try HeadVerifier(cursor: FeedCursor(key: key))
            .verify(bytes.span, now: Int64(time(nil)))
        files = try head.plan.map { try OpenFile("\(directory)/b/\($0.name)", flags: O_RDONLY) }
        self.head = head
        secrets = (0..<count).map {
            LocalSecret(id: "\($0)", bytes: SecretBytes(PublishedFeed.secret($0)))
        }
        expected = min(count, PublishedFeed.planted)
    }

    /// Both arms over every batch; who comes first changes, so that neither has the warmer caches.
    private mutating func round(_ number: Int) throws {
        // As in a cycle, which derives the digests of unsalted batches once.
        let start = Self.processorSeconds()
        let wanted = LocalSecretSet(secrets)
        checkSeconds += Self.processorSeconds() - start
        var cursor = head.cursor
        var matches: [FeedMatch] = []
        for (index, file) in files.enumerated() {
            var hash: [UInt8]?
            if (index + number) % 2 == 0 { hash = try hashed(file) }
            let batch = try checked(file, after: cursor, for: wanted)
            if try hash ?? hashed(file) != batch.header.payloadHash { throw Failure.wrongResult }
            cursor = batch.cursor
            matches += batch.matches
            if batch.header.kind == .notes,
                !batch.matches.allSatisfy({ $0.note == PublishedFeed.note })
            {
                throw Failure.wrongResult
            }
        }
        guard Set(matches.map(\.secretID)) == Set((0..<expected).map(String.init)),
            matches.count == expected
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
