import WakeBytes

/// A verifier of one batch that also searches it, in a single pass over chunks of any size.
/// Matches and cursor are only available after `finish`. Memory stays bounded for any input: the
/// header, the table of local digests, and the sealed notes of matches.
public struct BatchReader: ~Copyable {
    /// What vouches for the header.
    private enum Voucher {
        /// A head that names the batch, and the whole hash of the header, as its signed successor
        /// says; nil when it is not known.
        case head(FeedHead, UInt64, HeaderHash?)
        /// A key of the feed: it may be any batch.
        case key
        /// The name of a file that was verified when it was fetched: keys of older batches may be
        /// retired, and a cache that others can write is not used.
        case name(String)
    }

    private let cursor: FeedCursor
    private let voucher: Voucher
    private let secrets: LocalSecretSet
    /// The first 256 bytes, as far as they came.
    package private(set) var headerBytes: [UInt8] = []
    private var payload: PayloadReader?
    private var failure: FeedError?

    /// The verified header; nil until it is complete.
    public private(set) var header: BatchHeader?

    /// The reader of a batch that `head` names, the one after `cursor` unless `sequence` is given;
    /// a cycle has one set of `secrets`. A later batch can be read while one before it is missing,
    /// and that one when it comes, with the `hash` that its successor's header says.
    public init(
        cursor: FeedCursor, head: VerifiedHead, secrets: LocalSecretSet, sequence: UInt64? = nil,
        hash: HeaderHash? = nil
    ) {
        self.init(
            cursor: cursor, accepted: head.head, secrets: secrets,
            sequence: sequence ?? cursor.sequence + 1, hash: hash)
    }

    /// The same under a head that was accepted and stored.
    package init(
        cursor: FeedCursor, accepted head: FeedHead, secrets: LocalSecretSet, sequence: UInt64,
        hash: HeaderHash?
    ) {
        precondition(head.retains(sequence), "the head names no such batch")
        self.init(cursor, .head(head, sequence, hash), secrets)
    }

    private init(_ cursor: FeedCursor, _ voucher: Voucher, _ secrets: LocalSecretSet) {
        self.cursor = cursor
        self.voucher = voucher
        self.secrets = secrets
        headerBytes.reserveCapacity(FeedLimits.headerBytes)
    }

    /// The reader of any batch of the cursor's feed, by itself.
    package init(cursor: FeedCursor) { self.init(cursor, .key, LocalSecretSet([])) }

    /// The reader of a batch that was verified when fetched, to be searched for a secret added
    /// later. The whole file is hashed and searched again: a binary search could miss digests in a
    /// damaged file, and a page that vanishes under a mapping ends the process.
    /// - Parameter name: the published name, with the first bytes of the hash of the header.
    package init(kept name: String, cursor: FeedCursor, secrets: LocalSecretSet) {
        self.init(cursor, .name(name), secrets)
    }

    /// As above, for a single batch.
    public init(cursor: FeedCursor, head: VerifiedHead, secrets: [LocalSecret]) {
        self.init(cursor: cursor, head: head, secrets: LocalSecretSet(secrets))
    }

    /// Bytes still to come; nil while the header is incomplete.
    public var remainingBytes: Int? { payload?.remaining }

    /// Consumes the next bytes. After an error, every call throws the same error.
    public mutating func feed(_ chunk: Span<UInt8>) throws(FeedError) {
        if let failure { throw failure }
        do throws(FeedError) {
            try consume(chunk)
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func consume(_ chunk: Span<UInt8>) throws(FeedError) {
        var start = 0
        if payload == nil {
            start = min(chunk.count, FeedLimits.headerBytes - headerBytes.count)
            headerBytes.append(span: chunk.extracting(0..<start))
            guard headerBytes.count == FeedLimits.headerBytes else { return }
            let header = try verify(headerBytes.span)
            self.header = header
            payload = PayloadReader(header: header, matcher: secrets.matcher(for: header))
        }
        try payload?.feed(chunk.extracting(start..<chunk.count))
    }

    /// Performs the checks before the payload in their order; the first that fails names the error.
    private func verify(_ bytes: Span<UInt8>) throws(FeedError) -> BatchHeader {
        let header: BatchHeader
        switch voucher {
        case .head(let head, let sequence, let hash):
            header = try verify(bytes, head, sequence, hash)
        case .key: header = try cursor.header(bytes)
        case .name(let name):
            header = try BatchHeader(signed: bytes)
            guard header.feedID == cursor.feedID else { throw .wrongFeed }
            let suffix = HeaderHash(ofHeader: bytes).suffix
            guard name == FeedHead.batchName(header.sequence, suffix) else { throw .badSignature }
        }
        try header.checkSize()
        return header
    }

    private func verify(
        _ bytes: Span<UInt8>, _ head: FeedHead, _ sequence: UInt64, _ expected: HeaderHash?
    ) throws(FeedError) -> BatchHeader {
        let hash = HeaderHash(ofHeader: bytes)
        // What a signed successor names needs no signature: its key may have retired since.
        let header =
            hash == expected
            ? try BatchHeader(signed: bytes) : try cursor.header(bytes, of: sequence)
        guard header.sequence == sequence else { throw .corruptBatch(.sequence) }
        // A correctly signed batch that does not fit to both sides of the chain is a second one.
        if sequence == cursor.sequence + 1, let known = cursor.headerHash, header.previous != known
        {
            throw .fork(sequence: sequence)
        }
        let before = head.suffix(of: sequence - 1)
        guard before ?? header.previous.suffix == header.previous.suffix,
            hash.suffix == head.suffix(of: sequence), expected ?? hash == hash,
            sequence < head.sequence || hash == head.headerHash
        else { throw .fork(sequence: sequence) }
        return header
    }

    /// - Returns: the cursor after the batch, and the matches.
    public consuming func finish() throws(FeedError) -> CommittedBatch {
        if let failure { throw failure }
        guard let header, let payload else {
            throw BatchHeader.layout.mayBegin(headerBytes.span) ? .truncated : .badSignature
        }
        let hits = try payload.finish()
        let hash = HeaderHash(ofHeader: headerBytes.span)
        var next = cursor
        if case .head(_, let sequence, _) = voucher, sequence > cursor.sequence {
            next = cursor.advanced(to: sequence, hash)
        }
        return CommittedBatch(
            header: header, hash: hash, cursor: next,
            matches: secrets.matches(of: hits, in: header))
    }

    /// Reads a file from its start to `end`, or to its own end.
    /// - Parameter read: the bytes of the file from an offset on, at most so many; none at its end.
    /// - Returns: the number of bytes read.
    @discardableResult
    package mutating func feed<Failure: Error>(
        upTo end: Int = .max, refused: (FeedError) -> Failure,
        reading read: (_ offset: Int, _ count: Int) throws(Failure) -> [UInt8]
    ) throws(Failure) -> Int {
        var offset = 0
        while offset < end {
            let bytes = try read(offset, min(FeedLimits.windowBytes, end - offset))
            if bytes.isEmpty { break }
            do throws(FeedError) { try feed(bytes.span) } catch { throw refused(error) }
            offset += bytes.count
        }
        return offset
    }
}

/// A completely verified batch.
public struct CommittedBatch: Sendable {
    /// Its header.
    public let header: BatchHeader
    /// The hash of that.
    package let hash: HeaderHash
    /// The client's cursor after it; unchanged by a batch before it.
    public let cursor: FeedCursor
    /// One for each local secret whose digest is published in it.
    public let matches: [FeedMatch]
}
