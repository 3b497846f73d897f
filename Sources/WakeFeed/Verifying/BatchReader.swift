private import WakeSodium
import WakeSystem

/// A verifier of one batch that also searches it, in a single pass over chunks of any size.
/// Matches and cursor are only available after `finish`. Memory stays bounded for any input: the
/// header, the table of local digests, and the sealed notes of matches.
public struct BatchReader: ~Copyable {
    private let cursor: FeedCursor
    private let head: VerifiedHead
    private let secrets: LocalSecretSet
    private let sequence: UInt64
    /// The whole hash of the header, as its signed successor says; nil when it is not known.
    private let hash: HeaderHash?
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
        let sequence = sequence ?? cursor.sequence + 1
        precondition(head.head.retains(sequence), "the head names no such batch")
        self.cursor = cursor
        self.head = head
        self.secrets = secrets
        self.sequence = sequence
        self.hash = hash
        headerBytes.reserveCapacity(FeedLimits.headerBytes)
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
        let hash = HeaderHash(ofHeader: bytes)
        // What a signed successor names needs no signature: its key may have retired since.
        let header =
            hash == self.hash
            ? try BatchHeader(signed: bytes) : try cursor.header(bytes, of: sequence)
        guard header.sequence == sequence else { throw .corruptBatch(.sequence) }
        // A correctly signed batch that does not fit to both sides of the chain is a second one.
        if sequence == cursor.sequence + 1, let known = cursor.headerHash, header.previous != known
        {
            throw .fork(sequence: sequence)
        }
        let before = head.head.suffix(of: sequence - 1)
        guard before ?? header.previous.suffix == header.previous.suffix,
            hash.suffix == head.head.suffix(of: sequence), self.hash ?? hash == hash,
            sequence < head.head.sequence || hash == head.head.headerHash
        else { throw .fork(sequence: sequence) }
        try header.checkSize()
        return header
    }

    /// - Returns: the cursor after the batch, and the matches.
    public consuming func finish() throws(FeedError) -> CommittedBatch {
        if let failure { throw failure }
        guard let header, let payload else {
            throw BatchHeader.layout.mayBegin(headerBytes.span) ? .truncated : .badSignature
        }
        let hits = try payload.finish()
        let isNext = sequence > cursor.sequence
        let next =
            isNext
            ? cursor.advanced(to: sequence, HeaderHash(ofHeader: headerBytes.span)) : cursor
        return CommittedBatch(
            header: header, cursor: next, matches: secrets.matches(of: hits, in: header))
    }
}

/// A completely verified batch.
public struct CommittedBatch: Sendable {
    /// Its header.
    public let header: BatchHeader
    /// The client's cursor after it; unchanged by a batch before it.
    public let cursor: FeedCursor
    /// One for each local secret whose digest is published in it.
    public let matches: [FeedMatch]
}
