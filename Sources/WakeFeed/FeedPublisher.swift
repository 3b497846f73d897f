private import Glibc
private import WakeFiles
package import WakeSodium

/// Publishes into a feed's directory, so that a crash at any moment leaves a feed that verifies and
/// a publish that can be repeated.
///
/// The order: remove leftovers; each batch under a temporary name, then its own; the intent into
/// the journal; the new head under a temporary name, then its own. Every step is durable before
/// the next. Until the head is renamed nothing refers to what was written.
package struct FeedPublisher: Sendable {
    /// Told after every step; what it throws ends the publish there, as a crash would.
    package typealias Observer = @Sendable (PublishStep) throws(FeedDirectoryError) -> Void

    let files: FeedFiles
    let key: SigningKey
    let keys: [FeedKey]
    let feedID: FeedID
    let random: RandomSource
    let observer: Observer

    /// - Parameters:
    ///   - key: signs.
    ///   - earlierKeys: those it took over from, first key first; empty for a feed's first key.
    package init(
        directory: String, key: SigningKey, earlierKeys: [FeedKey] = [],
        random: RandomSource = .system, observer: @escaping Observer = { _ in }
    ) {
        files = FeedFiles(directory: directory)
        self.key = key
        keys = earlierKeys + [FeedKey(key.verifyingKey)]
        feedID = FeedID(firstKey: keys[0])
        self.random = random
        self.observer = observer
    }

    /// Publishes an input as one or more batches under one new head.
    /// - Parameter now: seconds since 1970.
    package func publish(
        _ input: FeedInput, options: PublishOptions = PublishOptions(), now: Int64
    ) throws(FeedDirectoryError) -> PublishOutcome {
        let shape = try check(input, options)
        let session = try open()
        try session.prune(now: now)
        try observer(.pruned)
        let identity = input.identity(shape)
        if !options.again, let batches = session.journal.batches(of: identity) {
            return .alreadyPublished(batches)
        }
        let builder = builder(shape, options, session, now: now)
        let batches = try session.append(
            builder.parts(of: input), of: input, builder: builder, identity: identity, now: now)
        return .published(batches)
    }

    /// Publishes one batch that holds decoys alone, so that "something was published" cannot be
    /// seen.
    /// - Parameters:
    ///   - options: those of real publishes: the batch looks the same. It holds `minimumDigests`.
    ///   - now: seconds since 1970.
    /// - Returns: its number.
    @discardableResult
    package func publishCover(
        options: PublishOptions = PublishOptions(), now: Int64
    ) throws(FeedDirectoryError) -> UInt64 {
        let shape = try BatchShape(options)
        let session = try open()
        try session.prune(now: now)
        try observer(.pruned)
        let builder = builder(shape, options, session, now: now)
        return try session.append(
            [[]], of: .secrets([]), builder: builder, identity: nil, now: now
        ).upperBound
    }

    /// Signs the head again, for freshness or with other wishes; the sequence stays.
    /// - Parameters:
    ///   - settings: nil keeps the present ones.
    ///   - lifetimeSeconds: until it expires; nil keeps the present span.
    ///   - nextKey: announces a successor, withdraws it with `.some(nil)`, or keeps it with nil.
    ///   - now: seconds since 1970.
    package func resign(
        settings: FeedSettings? = nil, lifetimeSeconds: Int64? = nil, nextKey: FeedKey?? = nil,
        now: Int64
    ) throws(FeedDirectoryError) {
        let session = try open()
        // Clients accept an announced key from the next batch on only.
        guard session.signer.bytes == key.verifyingKey.bytes else { throw .keyNotActive }
        try session.replaceHead(
            adding: [], settings: settings, lifetimeSeconds: lifetimeSeconds, nextKey: nextKey,
            now: now)
    }

    /// Removes temporary files, and batches the head does not name, that are older than an hour.
    /// - Parameter now: seconds since 1970.
    /// - Returns: how many files were removed.
    @discardableResult
    package func prune(now: Int64) throws(FeedDirectoryError) -> Int {
        try open().prune(now: now)
    }

    private func builder(
        _ shape: BatchShape, _ options: PublishOptions, _ session: PublishSession, now: Int64
    ) -> BatchBuilder {
        BatchBuilder(
            feedID: feedID, key: key, issued: session.issued(now: now), shape: shape,
            options: options, random: random)
    }

    /// Takes the directory's lock and reads where the feed stands.
    private func open() throws(FeedDirectoryError) -> PublishSession {
        guard Files.exists(files.head) else { throw .noFeed }
        let lock = try FeedDirectoryError.wrap { () throws(FileError) in
            let directory = try OpenFile(
                files.directory, flags: O_RDONLY | O_DIRECTORY, followsLink: true)
            try directory.lockExclusively()
            return directory
        }
        let (head, signer) = try files.readHead(keys, feedID: feedID)
        let isSigner = signer.bytes == key.verifyingKey.bytes
        guard isSigner || head.nextKey?.bytes == key.verifyingKey.bytes else {
            throw .head(.badSignature)
        }
        var journal = try files.readJournal()
        if journal.settle(with: head) { try files.write(journal) }
        return PublishSession(
            publisher: self, lock: lock, head: head, signer: signer, journal: journal)
    }
}
