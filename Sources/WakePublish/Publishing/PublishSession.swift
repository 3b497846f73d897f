private import Glibc
import WakeFeed
internal import WakeModel
internal import WakeSystem

/// A publisher's exclusive access to the directory: its lock, and the head at that time.
struct PublishSession {
    let publisher: FeedPublisher
    /// Released with the session (flock(2)).
    let lock: OpenFile
    let head: FeedHead
    let journal: FeedJournal
    let log: FeedLog
    /// A head that is logged and not served, in a session that leaves it so.
    let pending: FeedHead?

    private var directory: FeedDirectory { publisher.directory }

    /// Writes batches, the intent and the head; an input without `identity` is not journalled.
    func append(
        _ parts: [[Int]], of input: FeedInput, builder: BatchBuilder, identity: HeaderHash?,
        now: Int64
    ) throws(FeedDirectoryError) -> ClosedRange<UInt64> {
        guard parts.count <= FeedLimits.retainedBatches else { throw .tooManyBatches(parts.count) }
        var added: [HeaderHash] = []
        let first = head.sequence + 1
        for (index, part) in parts.enumerated() {
            let sequence = first + UInt64(index)
            let batch = builder.build(
                input, part: part, sequence: sequence, previous: added.last ?? head.headerHash)
            try directory.replace(
                directory.batchPath(batch.name), with: batch.bytes, .batchWritten(sequence),
                .batchNamed(sequence), publisher.observer)
            added.append(batch.headerHash)
        }
        let batches = first...head.sequence + UInt64(parts.count)
        if let identity, let last = added.last {
            var intended = journal
            intended.append(
                FeedJournal.Entry(
                    input: identity, batches: batches, headerHash: last, isIntent: true))
            try directory.write(intended)
            try publisher.observer(.journalWritten)
        }
        try replaceHead(adding: added, now: now)
        return batches
    }

    func replaceHead(
        adding added: [HeaderHash] = [], settings: FeedSettings? = nil,
        lifetimeSeconds: Int64? = nil, now: Int64
    ) throws(FeedDirectoryError) {
        let settings = settings ?? head.settings(now: now)
        // Newer also within the same minute: the old head cannot restore the old directives.
        let changesDirectives =
            settings.flags != head.settings.flags
            || settings.pauseSeconds != head.settings.pauseSeconds
            || settings.gatewayKeys != head.settings.gatewayKeys
        let issued = max(head.next(now: now), changesDirectives ? head.issued + 60 : 0)
        let kept = try retained(head.suffixes + added.map(\.suffix), issued: issued)
        let sequence = head.sequence + UInt64(added.count)
        let next = FeedHead(
            feedID: head.feedID, sequence: sequence,
            firstSequence: sequence + 1 - UInt64(kept.suffixes.count), issued: issued,
            expires: issued + (lifetimeSeconds ?? head.expires - head.issued),
            headerHash: added.last ?? head.headerHash, retainedBytes: kept.bytes,
            settings: settings, suffixes: kept.suffixes)
        try publisher.service.publish(next.encoded(signedWith: publisher.key), in: log)
    }

    func replaceKeys(_ file: [UInt8]) throws(FeedDirectoryError) {
        try directory.replace(
            directory.keysPath, with: file, .keysWritten, .keysNamed, publisher.observer)
    }

    /// The batches of a new head: the newest 448 that are at most 14 days old. The size of each is
    /// read, so that no head names a missing file.
    private func retained(
        _ suffixes: [BatchSuffix], issued: Int64
    ) throws(FeedDirectoryError) -> (suffixes: [BatchSuffix], bytes: UInt64) {
        var first = max(0, suffixes.count - FeedLimits.retainedBatches)
        func batch(_ index: Int) -> (path: String, sequence: UInt64) {
            let sequence = head.firstSequence + UInt64(index)
            return (directory.batchPath(FeedHead.batchName(sequence, suffixes[index])), sequence)
        }
        while first < suffixes.count {
            let (path, sequence) = batch(first)
            let signed = try header(path, sequence).issued
            if signed >= issued - FeedLimits.retainedSeconds { break }
            first += 1
        }
        var bytes: UInt64 = 0
        for index in first..<suffixes.count {
            let (path, sequence) = batch(index)
            bytes += try fileOfBatch(sequence) { () throws(FileError) in
                UInt64(try FileStatus(of: path).size)
            }
        }
        return (Array(suffixes[first...]), bytes)
    }

    /// The header of the newest batch; nil when none is retained.
    func newestHeader() throws(FeedDirectoryError) -> BatchHeader? {
        guard let name = head.batchName(for: head.sequence) else { return nil }
        return try header(directory.batchPath(name), head.sequence)
    }

    private func header(
        _ path: String, _ sequence: UInt64
    ) throws(FeedDirectoryError) -> BatchHeader {
        let bytes = try fileOfBatch(sequence) { () throws(FileError) in
            try OpenFile(path, flags: O_RDONLY).read(at: 0, count: FeedLimits.headerBytes)
        }
        guard bytes.count == FeedLimits.headerBytes else { throw .batch(sequence, .truncated) }
        return try mapError({ FeedDirectoryError.batch(sequence, $0) }) { () throws(FeedError) in
            try BatchHeader(signed: bytes.span)
        }
    }

    private func fileOfBatch<Value>(
        _ sequence: UInt64, _ body: () throws(FileError) -> Value
    ) throws(FeedDirectoryError) -> Value {
        try mapError(
            { $0.isMissing ? FeedDirectoryError.missingBatch(sequence) : .file($0) }, body)
    }

    /// Removes leftovers of crashes and of retention, and no other file.
    @discardableResult
    func prune(now: Int64) throws(FeedDirectoryError) -> Int {
        let named = Set(
            [head, pending].compactMap(\.self).flatMap { head in
                head.suffixes.enumerated().map { index, suffix in
                    FeedHead.batchName(head.firstSequence + UInt64(index), suffix)
                }
            })
        let served = try directory.checkpoint()?.checkpoint.size ?? 0
        return try mapError(FeedDirectoryError.of) { () throws(FileError) in
            var candidates = try Files.names(in: directory.batchesPath)
                .filter { !named.contains($0) && Self.isBatchName($0) }
                .map(directory.batchPath)
            candidates += [
                directory.headPath, directory.keysPath, directory.journalPath, directory.logPath,
                directory.checkpointPath,
            ].map(FeedDirectory.temporary)
            candidates += try directory.supersededTiles(sizes: [log.size, served])
            var removed = 0
            for path in candidates where try Self.isOld(path, now: now) {
                try Files.remove(path)
                removed += 1
            }
            return removed
        }
    }

    private static func isOld(_ path: String, now: Int64) throws(FileError) -> Bool {
        do throws(FileError) {
            let status = try FileStatus(of: path)
            return status.isRegular && Int64(status.modified) < now - FeedLimits.graceSeconds
        } catch {
            if error.isMissing { return false }
            throw error
        }
    }

    /// A batch's name, perhaps with `.tmp`.
    private static func isBatchName(_ name: String) -> Bool {
        FeedHead.isBatchName(name.hasSuffix(".tmp") ? String(name.dropLast(4)) : name)
    }
}
