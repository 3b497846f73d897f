private import Glibc
package import WakeSodium
internal import WakeSystem

/// A feed's directory: created, read and verified.
package struct FeedDirectory: Sendable {
    private let paths: FeedPaths

    package init(_ path: String) {
        paths = FeedPaths(directory: path)
    }

    /// Creates a key file (unless a crashed attempt left one) and an empty feed.
    /// - Parameter now: seconds since 1970.
    /// - Returns: the key for clients.
    package static func initFeed(
        _ path: String, keyFile: String, settings: FeedSettings = FeedSettings(),
        lifetimeSeconds: Int64 = FeedLimits.lifetimeSeconds, random: RandomSource = .system,
        now: Int64
    ) throws(FeedDirectoryError) -> FeedKey {
        guard !Files.exists(path + "/head") else { throw .exists }
        let key: SigningKey
        if Files.exists(keyFile) {
            key = try FeedKeyFile.load(keyFile)
        } else {
            key = try FeedKeyFile.create(keyFile, random: random.bytes)
        }
        try create(
            path, key: key, settings: settings, lifetimeSeconds: lifetimeSeconds, now: now)
        return FeedKey(key.verifyingKey)
    }

    /// Creates an empty feed: a head of sequence 0.
    package static func create(
        _ path: String, key: SigningKey, settings: FeedSettings = FeedSettings(),
        lifetimeSeconds: Int64 = FeedLimits.lifetimeSeconds, now: Int64
    ) throws(FeedDirectoryError) {
        let paths = FeedPaths(directory: path)
        guard !Files.exists(paths.head) else { throw .exists }
        let issued = max(0, now) / 60 * 60
        let head = FeedHead(
            feedID: FeedKey(key.verifyingKey).feedID, sequence: 0, firstSequence: 1,
            issued: issued, expires: issued + lifetimeSeconds, headerHash: .none,
            retainedBytes: 0, settings: settings, nextKey: nil, suffixes: [])
        let bytes = head.encoded(signedWith: key)
        try mapError(FeedDirectoryError.of) { () throws(FileError) in
            try Files.makeDirectory(paths.batches, mode: 0o755)
            try Files.replace(paths.head, with: bytes.span, mode: 0o644)
        }
    }

    /// The head's bytes as they are served.
    package func headBytes() throws(FeedDirectoryError) -> [UInt8] {
        try paths.readHeadBytes()
    }

    /// The head, verified.
    /// - Parameter keys: first key first.
    package func head(_ keys: [FeedKey]) throws(FeedDirectoryError) -> FeedHead {
        try paths.readHead(keys).head
    }

    /// The fingerprint that people compare.
    package func fingerprint(_ keys: [FeedKey]) throws(FeedDirectoryError) -> FeedFingerprint {
        FeedFingerprint(try head(keys))
    }

    /// Verifies the whole directory as a new client would.
    /// - Parameters:
    ///   - keys: first key first.
    ///   - secrets: searched for.
    ///   - now: seconds since 1970.
    ///   - progress: called after each batch with the number done and the total.
    package func verify(
        _ keys: [FeedKey], secrets: [LocalSecret] = [], now: Int64,
        progress: (Int, Int) -> Void = { _, _ in }
    ) throws(FeedDirectoryError) -> FeedVerification {
        let bytes = try paths.readHeadBytes()
        var feed = try mapError(FeedDirectoryError.head) { () throws(FeedError) in
            try FeedVerification(head: bytes.span, keys: keys, secrets: secrets, now: now)
        }
        for (index, planned) in feed.plan.enumerated() {
            feed.add(try read(planned, of: feed))
            progress(index + 1, feed.plan.count)
        }
        guard UInt64(feed.bytes) == feed.head.retainedBytes else {
            throw .head(.malformedHead(.table))
        }
        return feed
    }

    private func read(
        _ batch: VerifiedHead.PlannedBatch, of feed: FeedVerification
    ) throws(FeedDirectoryError) -> CommittedBatch {
        let file = try mapError({ (error: FileError) in
            error.isMissing ? FeedDirectoryError.missingBatch(batch.sequence) : .file(error)
        }) { () throws(FileError) in
            try OpenFile(paths.batch(batch.name), flags: O_RDONLY)
        }
        var reader = feed.reader()
        var offset = 0
        while let window = try file.window(at: &offset, FeedDirectoryError.of) {
            do throws(FeedError) {
                try reader.feed(window.span)
            } catch {
                throw .batch(batch.sequence, error)
            }
        }
        do throws(FeedError) {
            return try reader.finish()
        } catch {
            throw .batch(batch.sequence, error)
        }
    }
}

/// A verification of a whole feed, batch by batch, as a new client does it; the bytes come from a
/// directory or from a server.
package struct FeedVerification: Sendable {
    private let verified: VerifiedHead
    private let secrets: LocalSecretSet
    /// The batches to verify, in order.
    package let plan: [VerifiedHead.PlannedBatch]
    /// The cursor after the batches so far.
    package private(set) var cursor: FeedCursor
    /// Batches so far.
    package private(set) var batches = 0
    /// Digests in them, decoys included.
    package private(set) var digests = 0
    /// Bytes of them, headers included.
    package private(set) var bytes = 0
    package private(set) var matches: [FeedMatch] = []

    /// - Parameters:
    ///   - head: the head's bytes.
    ///   - keys: first key first.
    ///   - now: seconds since 1970.
    package init(
        head: Span<UInt8>, keys: [FeedKey], secrets: [LocalSecret] = [], now: Int64
    ) throws(FeedError) {
        let start = FeedCursor(key: keys[0], successors: Array(keys.dropFirst()))
        verified = try HeadVerifier(cursor: start).verify(head, now: now)
        self.secrets = LocalSecretSet(secrets)
        plan = verified.plan
        cursor = verified.cursor
    }

    package var head: FeedHead { verified.head }
    package var warnings: [FeedWarning] { verified.warnings }

    /// The reader of the next batch.
    func reader() -> BatchReader {
        BatchReader(cursor: cursor, head: verified, secrets: secrets)
    }

    /// Adds the next batch.
    mutating func add(_ batch: CommittedBatch) {
        cursor = batch.cursor
        matches += batch.matches
        batches += 1
        digests += batch.header.count
        bytes += FeedLimits.headerBytes + batch.header.payloadBytes
    }

    /// Verifies and adds the next batch.
    /// - Parameter bytes: header and payload.
    package mutating func verify(_ bytes: [UInt8]) throws(FeedError) {
        var reader = reader()
        try reader.feed(bytes.span)
        add(try reader.finish())
    }
}

/// The paths of a feed's files.
struct FeedPaths: Sendable {
    let directory: String

    var head: String { directory + "/head" }
    var batches: String { directory + "/b" }
    var journal: String { directory + "/.journal" }

    func batch(_ name: String) -> String { batches + "/" + name }
    static func temporary(_ path: String) -> String { path + ".tmp" }

    /// Reads the head, signed by one of these keys.
    /// - Parameter keys: first key first.
    func readHead(
        _ keys: [FeedKey]
    ) throws(FeedDirectoryError) -> (head: FeedHead, signer: FeedKey) {
        let bytes = try readHeadBytes()
        return try mapError(FeedDirectoryError.head) { () throws(FeedError) in
            try FeedCursor(key: keys[0], successors: Array(keys.dropFirst())).head(bytes.span)
        }
    }

    func readHeadBytes() throws(FeedDirectoryError) -> [UInt8] {
        try mapError({ $0.isMissing ? FeedDirectoryError.noFeed : .file($0) }) {
            () throws(FileError) in
            try Files.read(head, limit: FeedLimits.headBytes)
        }
    }
}
