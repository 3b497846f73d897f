private import Glibc
package import WakeFeed
package import WakeModel
internal import WakeSystem

/// A feed's directory. Any of the feed's keys leads to all; times are seconds since 1970.
package struct FeedDirectory: Sendable {
    let path: String

    package init(_ path: String) { self.path = path }

    var headPath: String { path + "/head" }
    var keysPath: String { path + "/keys" }
    var batchesPath: String { path + "/b" }
    var journalPath: String { path + "/.journal" }

    func batchPath(_ name: String) -> String { batchesPath + "/" + name }

    /// Creates a key file (unless a crashed attempt left one) and an empty feed; returns its key.
    package static func initFeed(
        _ path: String, keyFile: String, settings: FeedSettings = FeedSettings(),
        lifetimeSeconds: Int64 = FeedLimits.lifetimeSeconds, origin: NoteKeyName? = nil,
        random: RandomSource = .system, now: Int64
    ) throws(FeedDirectoryError) -> FeedKey {
        guard !Files.exists(FeedDirectory(path).headPath) else { throw .exists }
        let key =
            Files.exists(keyFile)
            ? try FeedKeyFile.load(keyFile) : try FeedKeyFile.create(keyFile, random: random.bytes)
        try create(
            path, key: key, settings: settings, lifetimeSeconds: lifetimeSeconds, origin: origin,
            now: now)
        return FeedKey(key.verifyingKey)
    }

    /// Creates an empty feed: a head of sequence 0, the first in the feed's log.
    /// - Parameter origin: the log's name; nil for the feed's identifier.
    package static func create(
        _ path: String, key: SigningKey, settings: FeedSettings = FeedSettings(),
        lifetimeSeconds: Int64 = FeedLimits.lifetimeSeconds, origin: NoteKeyName? = nil,
        now: Int64
    ) throws(FeedDirectoryError) {
        let directory = FeedDirectory(path)
        guard !Files.exists(directory.headPath) else { throw .exists }
        let issued = max(0, now) / 60 * 60
        let head = FeedHead(
            feedID: FeedKey(key.verifyingKey).feedID, sequence: 0, firstSequence: 1,
            issued: issued, expires: issued + lifetimeSeconds, headerHash: .none,
            retainedBytes: 0, settings: settings, suffixes: [])
        let bytes = head.encoded(signedWith: key)
        let keys = KeyChain.file(first: key)
        try mapError(FeedDirectoryError.of) { () throws(FileError) in
            try Files.makeDirectory(directory.batchesPath, mode: 0o755)
            try Files.replace(directory.keysPath, with: keys.span, mode: 0o644)
        }
        // `.log` of an attempt that was killed goes on: its first head is not this one.
        let log = try FeedLog(
            directory, new: origin ?? NoteKeyName(defaultFor: head.feedID))
        try HeadService(directory: directory, key: key, witnesses: nil, observer: { _ in })
            .publish(bytes, in: log)
    }

    /// The file `head`: the head and its proof.
    package func headFile() throws(FeedDirectoryError) -> [UInt8] {
        try mapError({ $0.isMissing ? FeedDirectoryError.noFeed : .file($0) }) {
            () throws(FileError) in
            try Files.read(headPath, limit: FeedLimits.headFileBytes)
        }
    }

    /// The head alone, and the proof that follows it.
    package func servedHead() throws(FeedDirectoryError) -> (head: [UInt8], proof: [UInt8]) {
        let file = try headFile()
        return try mapError(FeedDirectoryError.head) { () throws(FeedError) in
            try FeedHead.split(file)
        }
    }

    /// The file `keys`; nil in a directory without it.
    package func keysBytes() throws(FeedDirectoryError) -> [UInt8]? {
        guard Files.exists(keysPath) else { return nil }
        return try mapError(FeedDirectoryError.of) { () throws(FileError) in
            try Files.read(keysPath, limit: FeedLimits.keysBytes)
        }
    }

    /// All keys of the feed, of which one is known.
    package func keys(_ key: FeedKey) throws(FeedDirectoryError) -> KeyChain {
        guard let bytes = try keysBytes() else { return KeyChain(only: key) }
        let chain = try mapError(FeedDirectoryError.keys) { () throws(FeedError) in
            try KeyChain(bytes.span)
        }
        guard chain.contains(key) else { throw .keys(.wrongFeed) }
        return chain
    }

    /// Reads and verifies the head; `key` is the oldest that may have signed it.
    package func head(_ key: FeedKey) throws(FeedDirectoryError) -> FeedHead {
        let chain = try keys(key)
        let bytes = try headFile()
        return try mapError(FeedDirectoryError.head) { () throws(FeedError) in
            try FeedCursor(key: key).extended(by: chain, for: key)
                .head(bytes.span, since: key).head
        }
    }

    /// Verifies and searches all as a new client would; `progress` gets batches done and in total.
    package func verify(
        _ key: FeedKey, secrets: [LocalSecret] = [], now: Int64,
        progress: (Int, Int) -> Void = { _, _ in }
    ) throws(FeedDirectoryError) -> FeedVerification {
        _ = try keys(key)
        let (keys, bytes) = (try keysBytes(), try headFile())
        var feed = try mapError(FeedDirectoryError.head) { () throws(FeedError) in
            try FeedVerification(head: bytes.span, keys: keys, key: key, secrets: secrets, now: now)
        }
        for (index, planned) in feed.plan.enumerated() {
            feed.add(try read(planned, of: feed))
            progress(index + 1, feed.plan.count)
        }
        guard UInt64(feed.bytes) == feed.head.retainedBytes else {
            throw .head(.malformedHead(.table))
        }
        _ = try verifyLog(feed.cursor.chain)
        return feed
    }

    private func read(
        _ batch: VerifiedHead.PlannedBatch, of feed: FeedVerification
    ) throws(FeedDirectoryError) -> CommittedBatch {
        let file = try mapError({ (error: FileError) in
            error.isMissing ? FeedDirectoryError.missingBatch(batch.sequence) : .file(error)
        }) { () throws(FileError) in try OpenFile(batchPath(batch.name), flags: O_RDONLY) }
        var reader = feed.reader()
        try reader.feed(file, unreadable: FeedDirectoryError.of) { .batch(batch.sequence, $0) }
        do throws(FeedError) {
            return try reader.finish()
        } catch {
            throw .batch(batch.sequence, error)
        }
    }
}

/// A verification of a whole feed, batch by batch, as a new client does it.
package struct FeedVerification: Sendable {
    private let verified: VerifiedHead
    private let secrets: LocalSecretSet
    package let plan: [VerifiedHead.PlannedBatch]
    package private(set) var cursor: FeedCursor
    package private(set) var batches = 0
    /// Digests of the batches so far, decoys included.
    package private(set) var digests = 0
    /// Bytes of the batches so far, headers included.
    package private(set) var bytes = 0
    package private(set) var matches: [FeedMatch] = []

    /// - Parameters:
    ///   - keys: the feed's file; nil when there is none.
    ///   - key: one of them.
    package init(
        head: Span<UInt8>, keys: [UInt8]?, key: FeedKey, secrets: [LocalSecret] = [], now: Int64
    ) throws(FeedError) {
        verified = try HeadVerifier(cursor: FeedCursor(key: key))
            .verify(head, keys: keys, now: now)
        self.secrets = LocalSecretSet(secrets)
        plan = verified.plan
        cursor = verified.cursor
    }

    package var head: FeedHead { verified.head }
    package var warnings: [FeedWarning] { verified.warnings }

    func reader() -> BatchReader { BatchReader(cursor: cursor, head: verified, secrets: secrets) }

    mutating func add(_ batch: CommittedBatch) {
        cursor = batch.cursor
        matches += batch.matches
        batches += 1
        digests += batch.header.count
        bytes += FeedLimits.headerBytes + batch.header.payloadBytes
    }

    /// Verifies and adds the next batch: header and payload.
    package mutating func verify(_ bytes: [UInt8]) throws(FeedError) {
        var reader = reader()
        try reader.feed(bytes.span)
        add(try reader.finish())
    }
}
