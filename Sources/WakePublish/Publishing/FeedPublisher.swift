private import Glibc
package import WakeFeed
package import WakeModel
private import WakeSystem

/// A publisher into a feed's directory; times are seconds since 1970. A crash at any moment leaves
/// a feed that verifies and a publish that can be repeated: the steps of ``PublishStep`` happen in
/// order, each durable before the next. Until the head is in the log nothing refers to them; from
/// then on it is served in any case, by this publisher or by the next one.
package struct FeedPublisher: Sendable {
    /// Called after every step; an error ends the publish there, as a crash would.
    package typealias Observer = @Sendable (PublishStep) throws(FeedDirectoryError) -> Void

    let directory: FeedDirectory
    let key: SigningKey
    let witnesses: WitnessCollector?
    let observer: Observer
    private let random: RandomSource

    /// - Parameter witnesses: asked before any head is served; nil for a feed without witnesses.
    package init(
        directory: String, key: SigningKey, random: RandomSource = .system,
        witnesses: WitnessCollector? = nil, observer: @escaping Observer = { _ in }
    ) {
        self.directory = FeedDirectory(directory)
        self.key = key
        self.random = random
        self.witnesses = witnesses
        self.observer = observer
    }

    /// Publishes an input as one or more batches under one new head.
    package func publish(
        _ input: FeedInput, options: PublishOptions = PublishOptions(), now: Int64
    ) throws(FeedDirectoryError) -> PublishOutcome {
        let shape = try check(input, options)
        let session = try openPruned(now: now)
        let identity = input.identity(shape)
        if !options.again, let batches = session.journal.batches(of: identity) {
            return .alreadyPublished(batches)
        }
        let builder = builder(shape, options, session, now: now)
        let batches = try session.append(
            builder.parts(of: input), of: input, builder: builder, identity: identity, now: now)
        return .published(batches)
    }

    /// Publishes a cover batch: decoys alone, so that nobody can tell a publish from a heartbeat.
    /// - Parameter given: nil for the shape of the newest retained batch, with `minimumDigests`.
    @discardableResult
    package func publishCover(
        options given: PublishOptions? = nil, now: Int64
    ) throws(FeedDirectoryError) -> UInt64 {
        let session = try openPruned(now: now)
        var options = given ?? PublishOptions()
        if given == nil, let newest = try session.newestHeader() {
            options.budget = newest.budget
            options.isSalted = newest.salt != nil
            options.noteBytes = newest.noteBytes
        }
        let nothing = FeedInput.secrets([])
        let builder = builder(try BatchShape(of: nothing, options), options, session, now: now)
        return try session.append([[]], of: nothing, builder: builder, identity: nil, now: now)
            .upperBound
    }

    /// Signs the head again; the sequence stays. nil keeps the present `settings`
    /// or `lifetimeSeconds` (until it expires).
    package func resign(
        settings: FeedSettings? = nil, lifetimeSeconds: Int64? = nil, now: Int64
    ) throws(FeedDirectoryError) {
        try open().replaceHead(settings: settings, lifetimeSeconds: lifetimeSeconds, now: now)
    }

    /// Removes temporary files and batches without name in the head that are older than an hour.
    @discardableResult
    package func prune(now: Int64) throws(FeedDirectoryError) -> Int {
        try open(settling: false).prune(now: now)
    }

    /// Returns what `publish` would do, and changes nothing.
    package func preview(
        _ input: FeedInput, options: PublishOptions = PublishOptions()
    ) throws(FeedDirectoryError) -> PublishPreview {
        let shape = try check(input, options)
        let head = try directory.head(publicKey)
        var journal = try directory.readJournal()
        _ = journal.resolve(with: head)
        let capacity = shape.capacity(limit: options.batchDigests)
        let batches = (input.count + capacity - 1) / capacity
        let digests = (0..<batches).reduce(0) { sum, batch in
            sum + shape.padded(min(capacity, input.count - batch * capacity), options)
        }
        guard batches <= FeedLimits.retainedBatches else { throw .tooManyBatches(batches) }
        let added = head.sequence + 1...head.sequence + UInt64(batches)
        let known = options.again ? nil : journal.batches(of: input.identity(shape))
        return PublishPreview(
            outcome: known.map { .alreadyPublished($0) } ?? .published(added),
            items: input.count, decoys: digests - input.count,
            bytes: batches * FeedLimits.headerBytes + shape.mostBytes(digests))
    }

    /// Refuses inputs and options that no batch could be made of.
    private func check(
        _ input: FeedInput, _ options: PublishOptions
    ) throws(FeedDirectoryError) -> BatchShape {
        guard input.count > 0 else { throw .nothingToPublish }
        let shape = try BatchShape(of: input, options)
        if let line = shape.tooLongNote(in: input) {
            let limit = SealedNote.capacity(noteBytes: shape.noteBytes)
            throw .noteTooLong(line: line, limit: limit)
        }
        return shape
    }

    private func builder(
        _ shape: BatchShape, _ options: PublishOptions, _ session: PublishSession, now: Int64
    ) -> BatchBuilder {
        BatchBuilder(
            feedID: session.head.feedID, key: key, issued: session.head.next(now: now),
            shape: shape,
            options: options, random: random)
    }

    private func openPruned(now: Int64) throws(FeedDirectoryError) -> PublishSession {
        let session = try open()
        try session.prune(now: now)
        try observer(.pruned)
        return session
    }

    private var publicKey: FeedKey { FeedKey(key.verifyingKey) }

    /// Makes `key` the feed's key after `old`, which signs nothing more. May be repeated. The keys
    /// come before the head: a head of the old key verifies with them, too.
    func succeed(_ old: SigningKey, now: Int64) throws(FeedDirectoryError) {
        let before = FeedKey(old.verifyingKey)
        let session = try session(since: before)
        let chain = try directory.keys(before)
        if chain.newest == before {
            guard chain.keys.count < FeedLimits.keys else { throw .tooManyKeys }
            guard !chain.contains(publicKey) else { throw .keySucceeded }
            let file = chain.file(
                try directory.keysBytes() ?? KeyChain.file(first: old), adding: key, after: old,
                from: session.head.sequence + 1)
            try session.replaceKeys(file)
        } else if chain.newest != publicKey {
            throw .keySucceeded
        }
        try session.replaceHead(now: now)
    }

    /// Locks the directory and reads the feed's state.
    /// - Parameter settling: whether a head that an earlier publisher left pending is served first.
    private func open(settling: Bool = true) throws(FeedDirectoryError) -> PublishSession {
        guard Files.exists(directory.headPath) else { throw .noFeed }
        guard try directory.keys(publicKey).newest == publicKey else { throw .keySucceeded }
        return try session(since: publicKey, settling: settling)
    }

    /// - Parameter key: the oldest that may have signed the head.
    private func session(
        since key: FeedKey, settling: Bool = true
    ) throws(FeedDirectoryError) -> PublishSession {
        guard Files.exists(directory.headPath) else { throw .noFeed }
        let lock = try mapError(FeedDirectoryError.of) { () throws(FileError) in
            let lock = try OpenFile(
                directory.path, flags: O_RDONLY | O_DIRECTORY, followsLink: true)
            try lock.lockExclusively()
            return lock
        }
        var head = try directory.head(key)
        let log = try FeedLog(directory, new: NoteKeyName(defaultFor: head.feedID))
        var pending = try pending(in: log, since: key)
        if settling, pending != nil, let bytes = try log.lastHead() {
            try service.serve(bytes, of: log)
            (head, pending) = (try directory.head(key), nil)
        }
        var journal = try directory.readJournal()
        // A pending head's intent is neither true nor void.
        if pending == nil, journal.resolve(with: head) { try directory.write(journal) }
        return PublishSession(
            publisher: self, lock: lock, head: head, journal: journal, log: log, pending: pending)
    }

    var service: HeadService {
        HeadService(directory: directory, key: key, witnesses: witnesses, observer: observer)
    }

    private func pending(
        in log: FeedLog, since key: FeedKey
    ) throws(FeedDirectoryError) -> FeedHead? {
        guard let newest = try log.lastHead(), try newest != directory.servedHead().head else {
            return nil
        }
        // What is not signed is not served, whoever has put it there.
        guard let head = FeedHead(newest, signedBy: try directory.keys(key)) else {
            throw .log(.damaged)
        }
        return head
    }
}
