private import Glibc
private import WakeFiles
package import WakeSodium

/// A feed's directory as a reader sees it.
package struct FeedDirectory: Sendable {
    /// How long a head is valid unless somebody says otherwise: 7 days.
    package static let lifetimeSeconds: Int64 = 7 * 86_400

    private let files: FeedFiles

    package init(_ path: String) {
        files = FeedFiles(directory: path)
    }

    /// Makes a key file (unless a crashed attempt left one) and a feed with nothing in it.
    /// - Parameter now: seconds since 1970.
    /// - Returns: the key clients are given.
    package static func initFeed(
        _ path: String, keyFile: String, settings: FeedSettings = FeedSettings(),
        lifetimeSeconds: Int64 = lifetimeSeconds, random: RandomSource = .system, now: Int64
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

    /// Makes a feed with nothing in it: a head of sequence 0.
    package static func create(
        _ path: String, key: SigningKey, settings: FeedSettings = FeedSettings(),
        lifetimeSeconds: Int64 = lifetimeSeconds, now: Int64
    ) throws(FeedDirectoryError) {
        let files = FeedFiles(directory: path)
        guard !Files.exists(files.head) else { throw .exists }
        let issued = max(0, now) / 60 * 60
        let head = FeedHead(
            feedID: FeedKey(key.verifyingKey).feedID, sequence: 0, firstSequence: 1,
            issued: issued, expires: issued + lifetimeSeconds, headerHash: .none,
            retainedBytes: 0, settings: settings, nextKey: nil, suffixes: [])
        let bytes = head.encoded(signedWith: key)
        try FeedDirectoryError.wrap { () throws(FileError) in
            try Files.makeDirectory(files.batches, mode: 0o755)
            try Files.replace(files.head, with: bytes.span, mode: 0o644)
        }
    }

    /// The head's bytes as they are served.
    package func headBytes() throws(FeedDirectoryError) -> [UInt8] {
        try files.readHeadBytes()
    }

    /// The head, verified.
    /// - Parameter keys: first key first.
    package func head(_ keys: [FeedKey]) throws(FeedDirectoryError) -> FeedHead {
        precondition(!keys.isEmpty)
        return try files.readHead(keys, feedID: FeedID(firstKey: keys[0])).head
    }

    /// What people compare.
    package func fingerprint(_ keys: [FeedKey]) throws(FeedDirectoryError) -> FeedFingerprint {
        FeedFingerprint(try head(keys))
    }

    /// What a verification saw.
    package struct Report: Sendable {
        package let head: FeedHead
        package let warnings: [FeedWarning]
        /// Batches read to their last byte.
        package let batches: Int
        /// Digests in them, decoys included.
        package let digests: Int
        /// Bytes of them, headers included.
        package let bytes: Int
        package let matches: [FeedMatch]
        /// Where a client stands after all of it.
        package let cursor: FeedCursor
    }

    /// Verifies the whole directory as a new client would.
    /// - Parameters:
    ///   - keys: first key first.
    ///   - secrets: looked for on the way.
    ///   - now: seconds since 1970.
    ///   - progress: told after each batch how many of how many are done.
    package func verify(
        _ keys: [FeedKey], secrets: [LocalSecret] = [], now: Int64,
        progress: (Int, Int) -> Void = { _, _ in }
    ) throws(FeedDirectoryError) -> Report {
        precondition(!keys.isEmpty)
        let start = FeedCursor(key: keys[0], successors: Array(keys.dropFirst()))
        let head = try verifiedHead(start, now: now)
        var cursor = head.cursor
        var matches: [FeedMatch] = []
        var digests = 0
        var bytes = 0
        let plan = head.plan
        for (index, planned) in plan.enumerated() {
            let batch = try read(planned, after: cursor, head: head, secrets: secrets)
            cursor = batch.cursor
            matches += batch.matches
            digests += batch.header.count
            bytes += FeedLimits.headerBytes + batch.header.payloadBytes
            progress(index + 1, plan.count)
        }
        guard UInt64(bytes) == head.head.retainedBytes else { throw .head(.malformedHead(.table)) }
        return Report(
            head: head.head, warnings: head.warnings, batches: plan.count, digests: digests,
            bytes: bytes, matches: matches, cursor: cursor)
    }

    private func verifiedHead(
        _ cursor: FeedCursor, now: Int64
    ) throws(FeedDirectoryError) -> VerifiedHead {
        let bytes = try files.readHeadBytes()
        do throws(FeedError) {
            return try HeadVerifier(cursor: cursor).verify(bytes.span, now: now)
        } catch {
            throw .head(error)
        }
    }

    private func read(
        _ batch: VerifiedHead.PlannedBatch, after cursor: FeedCursor, head: VerifiedHead,
        secrets: [LocalSecret]
    ) throws(FeedDirectoryError) -> CommittedBatch {
        var reader = BatchReader(cursor: cursor, head: head, secrets: secrets)
        let file: OpenFile
        do throws(FileError) {
            file = try OpenFile(files.batch(batch.name), flags: O_RDONLY)
        } catch {
            throw error.isMissing ? .missingBatch(batch.sequence) : .file(error)
        }
        var offset = 0
        while true {
            let piece = try FeedDirectoryError.wrap { () throws(FileError) in
                try file.read(at: offset, count: FeedLimits.windowBytes)
            }
            if piece.isEmpty { break }
            offset += piece.count
            do throws(FeedError) {
                try reader.feed(piece.span)
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
