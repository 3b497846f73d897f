private import Glibc
internal import WakeFiles
internal import WakeSodium

/// One publisher's turn: holds the directory's lock and the head as it stood when it took it.
struct PublishSession {
    let publisher: FeedPublisher
    /// Released with the session (flock(2)).
    let lock: OpenFile
    let head: FeedHead
    let signer: FeedKey
    let journal: FeedJournal

    private var files: FeedFiles { publisher.files }

    /// A full minute, and never earlier than the present head: clients follow the newest.
    func issued(now: Int64) -> Int64 {
        max(head.issued, max(0, now) / 60 * 60)
    }

    /// Writes batches, the intent and the head.
    /// - Parameter identity: of the input; nil for what need not be recognised.
    func append(
        _ parts: [[Int]], of input: FeedInput, builder: BatchBuilder, identity: HeaderHash?,
        now: Int64
    ) throws(FeedDirectoryError) -> ClosedRange<UInt64> {
        guard parts.count <= FeedLimits.retainedBatches else {
            throw .tooManyBatches(parts.count)
        }
        var added: [(suffix: BatchSuffix, hash: HeaderHash)] = []
        var previous = head.headerHash
        let first = head.sequence + 1
        for (index, part) in parts.enumerated() {
            let sequence = first + UInt64(index)
            let batch = builder.build(
                input, part: part, sequence: sequence, previous: previous)
            let path = files.batch(batch.name)
            try write(batch.bytes, to: FeedFiles.temporary(path))
            try publisher.observer(.batchWritten(sequence))
            try rename(FeedFiles.temporary(path), to: path)
            try publisher.observer(.batchNamed(sequence))
            previous = batch.headerHash
            added.append((batch.headerHash.suffix, batch.headerHash))
        }
        let batches = first...head.sequence + UInt64(parts.count)
        if let identity {
            var noted = journal
            noted.append(
                FeedJournal.Entry(
                    input: identity, batches: batches, headerHash: previous, isIntent: true))
            try files.write(noted)
            try publisher.observer(.journalWritten)
        }
        try replaceHead(
            adding: added, settings: nil, lifetimeSeconds: nil, nextKey: nil, now: now)
        return batches
    }

    func replaceHead(
        adding added: [(suffix: BatchSuffix, hash: HeaderHash)], settings: FeedSettings?,
        lifetimeSeconds: Int64?, nextKey: FeedKey??, now: Int64
    ) throws(FeedDirectoryError) {
        // Another order is newer than the one before also within the same minute: whoever holds the
        // old head cannot bring it back.
        let isNewOrder = settings.map {
            $0.flags != head.flags || $0.pauseSeconds != head.settings.pauseSeconds
        }
        let issued = max(issued(now: now), isNewOrder == true ? head.issued + 60 : 0)
        let suffixes = head.suffixes + added.map(\.suffix)
        let kept = try retained(suffixes, issued: issued)
        let sequence = head.sequence + UInt64(added.count)
        // An announced key that signs now has become the present one.
        let isTakenOver = head.nextKey?.bytes == publisher.key.verifyingKey.bytes
        let next = FeedHead(
            feedID: head.feedID, sequence: sequence,
            firstSequence: sequence + 1 - UInt64(kept.suffixes.count), issued: issued,
            expires: issued + (lifetimeSeconds ?? head.expires - head.issued),
            headerHash: added.last?.hash ?? head.headerHash, retainedBytes: kept.bytes,
            settings: settings ?? head.settings,
            nextKey: nextKey ?? (isTakenOver ? nil : head.nextKey), suffixes: kept.suffixes)
        let temporary = FeedFiles.temporary(files.head)
        try write(next.encoded(signedWith: publisher.key), to: temporary)
        try publisher.observer(.headWritten)
        try rename(temporary, to: files.head)
        try publisher.observer(.headNamed)
    }

    /// The batches a new head names: the newest 448 that are at most 14 days old. Each is looked
    /// at, so that no head is signed that names a file which is not there.
    private func retained(
        _ suffixes: [BatchSuffix], issued: Int64
    ) throws(FeedDirectoryError) -> (suffixes: [BatchSuffix], bytes: UInt64) {
        var first = max(0, suffixes.count - FeedLimits.retainedBatches)
        let path = { (index: Int) in
            let sequence = head.firstSequence + UInt64(index)
            return files.batch(FeedHead.batchName(sequence, suffixes[index]))
        }
        while first < suffixes.count {
            let signed = try signingTime(path(first), head.firstSequence + UInt64(first))
            if signed >= issued - FeedLimits.retainedSeconds { break }
            first += 1
        }
        var bytes: UInt64 = 0
        for index in first..<suffixes.count {
            do throws(FileError) {
                bytes += UInt64(try FileStatus(of: path(index)).size)
            } catch {
                guard error.isMissing else { throw .file(error) }
                throw .missingBatch(head.firstSequence + UInt64(index))
            }
        }
        return (Array(suffixes[first...]), bytes)
    }

    private func signingTime(
        _ path: String, _ sequence: UInt64
    ) throws(FeedDirectoryError) -> Int64 {
        let bytes: [UInt8]
        do throws(FileError) {
            let file = try OpenFile(path, flags: O_RDONLY)
            bytes = try file.read(at: 0, count: FeedLimits.headerBytes)
        } catch {
            guard error.isMissing else { throw .file(error) }
            throw .missingBatch(sequence)
        }
        guard bytes.count == FeedLimits.headerBytes else { throw .batch(sequence, .truncated) }
        do throws(FeedError) {
            return try BatchHeader(signed: bytes.span).issued
        } catch {
            throw .batch(sequence, error)
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(FeedDirectoryError) {
        try FeedDirectoryError.wrap { () throws(FileError) in
            // What a crashed publisher left under this name is dead: the lock is ours.
            try Files.remove(path)
            do throws(FileError) {
                try Files.create(path, with: bytes.span, mode: 0o644)
            } catch {
                // On a full disk half a file would only be in the way.
                try? Files.remove(path)
                throw error
            }
        }
    }

    private func rename(_ path: String, to target: String) throws(FeedDirectoryError) {
        try FeedDirectoryError.wrap { () throws(FileError) in
            try Files.rename(path, to: target)
        }
    }
}
