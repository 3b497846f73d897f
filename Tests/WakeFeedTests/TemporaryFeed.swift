import Glibc
import Synchronization
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

/// A feed in a directory of its own, removed with this object.
final class TemporaryFeed: Sendable {
    static let now: Int64 = 1_800_000_059
    static let day: Int64 = 86_400

    let path: String
    let key: SigningKey
    private let isOwned: Bool
    var directory: String { path + "/feed" }
    var publicKey: FeedKey { FeedKey(key.verifyingKey) }

    init(seed: UInt8 = 1, creating: Bool = true) throws {
        let name = Hex.encode(Sodium.random(8).span)
        path = "/tmp/wake-feed-" + String(decoding: name, as: UTF8.self)
        try Files.makeDirectory(path)
        key = SigningKey(seed: [UInt8](repeating: seed, count: 32).span)
        isOwned = true
        if creating {
            try FeedDirectory.create(directory, key: key, now: Self.now)
        }
    }

    /// A feed that somebody else made and removes.
    init(borrowing path: String, seed: UInt8 = 1) {
        self.path = path
        key = SigningKey(seed: [UInt8](repeating: seed, count: 32).span)
        isOwned = false
    }

    deinit {
        if isOwned { Self.removeTree(path) }
    }

    private static func removeTree(_ path: String) {
        for name in (try? Files.names(in: path)) ?? [] {
            let child = path + "/" + name
            if (try? FileStatus(of: child))?.isDirectory == true {
                removeTree(child)
            } else {
                try? Files.remove(child)
            }
        }
        unsafe rmdir(path)
    }

    func publisher(
        random: RandomSource = .system, observer: @escaping FeedPublisher.Observer = { _ in }
    ) -> FeedPublisher {
        FeedPublisher(directory: directory, key: key, random: random, observer: observer)
    }

    func verify(secrets: [LocalSecret] = [], now: Int64 = now) throws -> FeedVerification {
        try FeedDirectory(directory).verify(publicKey, secrets: secrets, now: now)
    }

    func headBytes() throws -> [UInt8] { try FeedDirectory(directory).servedHead().head }

    /// The present head, verified with this cursor or a new one.
    func verifiedHead(
        _ cursor: FeedCursor? = nil, now: Int64 = now
    ) throws -> VerifiedHead {
        let bytes = try headBytes()
        let verifier = HeadVerifier(cursor: cursor ?? FeedCursor(key: publicKey))
        return try verifier.verify(bytes.span, now: now)
    }

    func batchBytes(_ name: String) throws -> [UInt8] {
        try Files.read(directory + "/b/" + name, limit: 8 << 20)
    }

    func batchNames() throws -> [String] {
        try Files.names(in: directory + "/b").sorted()
    }
}

enum Sample {
    /// 32 bytes that differ for each number.
    static func secret(_ number: Int) -> [UInt8] {
        let word = Array("secret \(number)".utf8)
        return Blake2b.hash(word.span)
    }

    static func localSecret(_ number: Int) -> LocalSecret {
        LocalSecret(id: "\(number)", bytes: SecretBytes(secret(number)))
    }

    static func input(_ numbers: some Sequence<Int>, note: String? = nil) throws -> FeedInput {
        let lines = numbers.flatMap { Hex.encode(secret($0).span) + [UInt8(ascii: "\n")] }
        return try FeedInput(secretsFrom: lines, notes: note.map { Array($0.utf8) })
    }

    /// The values of a batch's digests, decoded bit by bit, as plainly as can be.
    static func values(_ batch: [UInt8]) -> [UInt64] {
        let bits = Int(batch[44])
        let count = Int(batch.span.littleEndian(at: 40, as: UInt32.self))
        var position = 256 * 8
        func next() -> UInt64 {
            defer { position += 1 }
            return UInt64(batch[position / 8] >> UInt8(position % 8) & 1)
        }
        var values: [UInt64] = []
        while values.count < count {
            var distances = [UInt64](repeating: 0, count: 8)
            for item in 0..<8 {
                while next() == 0 { distances[item] += 1 << UInt64(bits) }
            }
            for item in 0..<8 {
                for bit in 0..<UInt64(bits) { distances[item] += next() << bit }
                values.append(values.last.map { $0 + 1 + distances[item] } ?? distances[item])
            }
        }
        return values
    }

    /// Random bytes that are the same each time: BLAKE2b-512 of a word and a counter, end to end.
    static func stream(_ word: String) -> RandomSource {
        let state = Mutex(StreamState(word: Array(word.utf8)))
        return RandomSource { count in state.withLock { $0.take(count) } }
    }

    private struct StreamState {
        let word: [UInt8]
        var counter: UInt64 = 0
        var rest: [UInt8] = []

        mutating func take(_ count: Int) -> [UInt8] {
            while rest.count < count {
                let block = word + (0..<8).map { UInt8(truncatingIfNeeded: counter >> ($0 * 8)) }
                rest += Blake2b.hash(block.span, count: 64)
                counter += 1
            }
            defer { rest.removeFirst(count) }
            return Array(rest[..<count])
        }
    }
}

/// The error a closure throws, of the type it declares.
func failure<E: Error>(_ body: () throws(E) -> Void) -> E? {
    do throws(E) {
        try body()
        return nil
    } catch {
        return error
    }
}

/// Feeds a whole batch in pieces of one size.
func readBatch(
    _ bytes: [UInt8], cursor: FeedCursor, head: VerifiedHead, secrets: [LocalSecret] = [],
    piece: Int = 65_536
) throws(FeedError) -> CommittedBatch {
    var reader = BatchReader(cursor: cursor, head: head, secrets: secrets)
    var start = 0
    while start < bytes.count {
        let end = min(start + piece, bytes.count)
        try reader.feed(bytes.span.extracting(start..<end))
        start = end
    }
    return try reader.finish()
}
