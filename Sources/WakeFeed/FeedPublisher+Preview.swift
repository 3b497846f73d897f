/// What a publish would do.
package struct PublishPreview: Sendable, Equatable {
    /// The batches it would add, or that hold the same input already.
    package let outcome: PublishOutcome
    /// Items of the input, each once.
    package let items: Int
    /// Decoys beside them.
    package let decoys: Int
    /// Bytes every client would fetch, headers included.
    package let bytes: Int
}

extension FeedPublisher {
    /// Says what `publish` would do, and changes nothing.
    package func preview(
        _ input: FeedInput, options: PublishOptions = PublishOptions()
    ) throws(FeedDirectoryError) -> PublishPreview {
        let shape = try check(input, options)
        let head = try files.readHead(keys, feedID: feedID).head
        var journal = try files.readJournal()
        _ = journal.settle(with: head)
        let capacity = shape.capacity(limit: options.batchDigests)
        var digests = 0
        var batches = 0
        while batches * capacity < input.count {
            let count = min(capacity, input.count - batches * capacity)
            digests += shape.padded(count, options)
            batches += 1
        }
        guard batches <= FeedLimits.retainedBatches else { throw .tooManyBatches(batches) }
        let added = head.sequence + 1...head.sequence + UInt64(batches)
        let known = options.again ? nil : journal.batches(of: input.identity(shape))
        return PublishPreview(
            outcome: known.map { .alreadyPublished($0) } ?? .published(added),
            items: input.count, decoys: digests - input.count,
            bytes: batches * FeedLimits.headerBytes + digests * shape.rowBytes)
    }

    /// Refuses what no batch could be made of.
    func check(
        _ input: FeedInput, _ options: PublishOptions
    ) throws(FeedDirectoryError) -> BatchShape {
        guard input.count > 0 else { throw .nothingToPublish }
        let shape = try BatchShape(of: input, options)
        if let item = shape.tooLongNote(in: input) {
            let limit = SealedNote.capacity(noteBytes: shape.noteBytes)
            throw .noteTooLong(item: item, limit: limit)
        }
        return shape
    }
}
