import Foundation
import WakeBytes
package import WakeFeed

/// What a client remembers of a feed: the cursor, the batches that are missing, the newest accepted
/// head, and the accepted tree of the feed's log. A value without clock, file and network; the
/// rules are those of Policy/FEED.md, sections 9 and 15.
package struct PhoneFeed: Sendable, Equatable {
    /// A refusal of a head. Nothing has changed then, but that a fork is remembered.
    package enum Refusal: Error, Equatable {
        case head(FeedError)
        /// By the policy of witnesses.
        case proof(HeadProofFault)
    }

    /// An accepted head's news.
    package struct Acceptance: Sendable {
        package let warnings: [FeedWarning]
        /// Missing batches that the head names no more.
        package let lost: [UInt64]
        /// Without the cosignatures that are older than a head's life there is no quorum.
        package let isProofStale: Bool
    }

    package private(set) var cursor: FeedCursor
    private var missing = MissingBatches()
    /// The bytes of the newest accepted head, without its proof; nil before the first.
    package private(set) var headBytes: [UInt8]?
    private var log: LogCursor?
    /// The number of the first batch of which there were two: nothing is believed any more.
    package private(set) var forkedAt: UInt64?

    /// The state of a new client that knows one of the feed's keys.
    package init(key: FeedKey) { cursor = FeedCursor(key: key) }

    /// The state of a client that begins again; no key that it knows as retired is believed.
    package func restarted() -> PhoneFeed { PhoneFeed(cursor: cursor.restarted()) }

    private init(cursor: FeedCursor) { self.cursor = cursor }

    /// Whether this state can be continued with a configured key: what was never verified counts
    /// for less than a key that comes with the app.
    package func mayContinue(with key: FeedKey) -> Bool {
        cursor.newestIssued != nil || cursor.chain.contains(key)
    }

    /// Whether the file `keys` is to be fetched before this head is verified.
    package func needsKeys(for file: [UInt8], key: FeedKey) -> Bool {
        HeadVerifier(cursor: cursor, key: key).needsKeys(for: file.span)
    }

    /// Verifies the file `head` and advances to it.
    /// - Parameters:
    ///   - keys: the file `keys`; nil when it was not needed or did not come.
    ///   - key: the configured key.
    ///   - policy: nil: the feed's signature is enough.
    ///   - now: seconds since 1970.
    package mutating func accept(
        _ file: [UInt8], keys: [UInt8]?, key: FeedKey, under policy: WitnessPolicy?, now: Int64
    ) throws(Refusal) -> Acceptance {
        let verified: VerifiedHead
        do throws(FeedError) {
            verified = try HeadVerifier(cursor: cursor, key: key)
                .verify(file.span, keys: keys, accepted: head, now: now)
        } catch { throw .head(remembered(error)) }
        var proven: HeadProofVerifier.Verified?
        if let policy {
            do throws(HeadProofFault) {
                proven = try HeadProofVerifier(policy: policy, cursor: log)
                    .verify(file, of: verified, now: now)
            } catch { throw .proof(error) }
        }
        if let forkedAt { throw .head(.fork(sequence: forkedAt)) }
        cursor = verified.cursor
        headBytes = Array(file[..<verified.head.byteCount])
        if let proven { log = proven.cursor }
        return Acceptance(
            warnings: verified.warnings, lost: missing.drop(before: verified.head.firstSequence),
            isProofStale: proven?.isStale ?? false)
    }

    /// The newest accepted head; nil before the first.
    package var head: FeedHead? { headBytes.flatMap(FeedHead.init(stored:)) }

    /// Heads that the feed's log had when the newest one was proven; nil without a policy.
    package var logSize: UInt64? { log?.size }

    /// The numbers of the batches that the head names and that were not checked, ascending.
    package var unchecked: [UInt64] {
        guard let last = head?.sequence, last > cursor.sequence else { return missing.sequences }
        return missing.sequences + Array(cursor.sequence + 1...last)
    }

    /// The unchecked batches in the order in which a client asks for them.
    /// - Parameter random: in [0, 1).
    package func plan(random: () -> Double) -> [VerifiedHead.PlannedBatch] {
        guard let head else { return [] }
        let batches = unchecked.compactMap(head.batch)
        return BatchQueue.order(
            new: batches.filter { $0.sequence > cursor.sequence },
            missing: batches.filter { $0.sequence <= cursor.sequence }, random: random)
    }

    /// Verifies a batch that the head names, and searches it. Nothing has changed if it throws, but
    /// that a fork is remembered.
    /// - Parameter bytes: the whole file.
    package mutating func check(
        _ sequence: UInt64, _ bytes: [UInt8], against secrets: LocalSecretSet
    ) throws(FeedError) -> [FeedMatch] {
        guard let head, head.retains(sequence) else { throw .corruptBatch(.sequence) }
        var reader = BatchReader(
            cursor: cursor, accepted: head, secrets: secrets, sequence: sequence,
            hash: missing.hash(of: sequence))
        let batch: CommittedBatch
        do throws(FeedError) {
            try reader.feed(bytes.span)
            batch = try reader.finish()
        } catch { throw remembered(error) }
        missing.checked(batch.header, after: cursor.sequence)
        cursor = batch.cursor
        return batch.matches
    }

    private mutating func remembered(_ error: FeedError) -> FeedError {
        if case .fork(let sequence) = error { forkedAt = forkedAt ?? sequence }
        return error
    }
}

extension PhoneFeed: Codable {
    private struct Form: Codable {
        let cursor: Data
        let missing: MissingBatches
        let head: Data?
        let log: Data?
        let forkedAt: UInt64?
    }

    package init(from decoder: any Decoder) throws {
        let form = try Form(from: decoder)
        let log = form.log.map { LogCursor(decoding: Array($0)) }
        guard let cursor = FeedCursor(decoding: Array(form.cursor)), log != .some(nil) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "no state of a feed"))
        }
        self.init(cursor: cursor)
        missing = form.missing
        headBytes = form.head.map { Array($0) }
        self.log = log ?? nil
        forkedAt = form.forkedAt
    }

    package func encode(to encoder: any Encoder) throws {
        let form = Form(
            cursor: Data(cursor.encode()), missing: missing, head: headBytes.map { Data($0) },
            log: log.map { Data($0.encode()) }, forkedAt: forkedAt)
        try form.encode(to: encoder)
    }
}
