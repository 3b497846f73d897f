import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

/// A feed's head, and the cursor that a client keeps of it: one encoding each, bounds that hold for
/// the most extreme numbers, and nothing without a signature.
enum HeadProperty {
    private static let signing = SigningKey(seed: [UInt8](repeating: 7, count: 32).span)
    private static let key = FeedKey(signing.verifyingKey)

    /// - Parameter input: a cursor; or a number and a time of a client, 8 bytes each, and the
    ///   fields of a head, without the zeros at its end.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        let isCursor = FeedCursor(decoding: input).map { $0.encode() == input }
        try require(isCursor != false, "a cursor of two forms")
        guard input.count >= 16, input.count <= 16 + FeedLimits.headBytes - 72 else {
            return isCursor == true
        }
        var bytes = Array(input[16...])
        bytes += [UInt8](repeating: 0, count: FeedLimits.headBytes - bytes.count)
        try checkUnsigned(bytes)
        bytes.put(FeedHead.magic.bytes, at: 0)
        bytes.put(key.feedID.bytes, at: 8)
        guard let head = FeedHead(stored: bytes) else { return isCursor == true }
        try checkHead(head, bytes)
        var cursor = FeedCursor(key: key)
        cursor.sequence = input.span.littleEndian(at: 0, as: UInt64.self) >> 1
        // The hash of the batch there is not known.
        if cursor.sequence > 0 { cursor.headerHash = nil }
        let now = Int64(bitPattern: input.span.littleEndian(at: 8, as: UInt64.self))
        try checkClient(cursor, now: now, head.encoded(signedWith: signing))
        return true
    }

    private static func checkUnsigned(_ bytes: [UInt8]) throws(Violation) {
        let verifier = HeadVerifier(cursor: FeedCursor(key: key))
        let head = try? verifier.verify(bytes.span, now: 0)
        try require(head == nil, "a head without a signature")
    }

    private static func checkHead(_ head: FeedHead, _ bytes: [UInt8]) throws(Violation) {
        let signed = head.byteCount - 72
        let again = head.encoded(signedWith: signing)
        try require(again[..<signed].elementsEqual(bytes[..<signed]), "a head of two forms")
        try require(head.count <= FeedLimits.retainedBatches, "too many batches")
        try require(head.firstSequence <= head.sequence + 1, "the first behind the last")
        if let last = head.suffixes.last {
            try require(last == head.headerHash.suffix, "two newest batches")
            let name = head.batchName(for: head.sequence) ?? ""
            try require(FeedHead.sequence(ofBatchName: name) == head.sequence, "another name")
        }
        try require(head.suffix(of: head.firstSequence &- 1) == nil, "a batch not retained")
    }

    /// A client that is anywhere reads it at any time.
    private static func checkClient(
        _ cursor: FeedCursor, now: Int64, _ bytes: [UInt8]
    ) throws(Violation) {
        let verified: VerifiedHead
        do throws(FeedError) {
            verified = try HeadVerifier(cursor: cursor).verify(bytes.span, now: now)
        } catch {
            guard case .rollback(let stored, let offered) = error, offered < stored,
                stored == cursor.sequence
            else { throw Violation("a signed head is refused: \(error)") }
            return
        }
        let next = verified.cursor
        try require(next.sequence >= cursor.sequence, "a cursor that goes back")
        try require(next.sequence <= verified.head.sequence, "a cursor beyond its head")
        let plan = verified.plan
        try require(
            plan.map(\.sequence).elementsEqual(
                next.sequence == verified.head.sequence
                    ? [] : Array(next.sequence + 1...verified.head.sequence)), "a plan with holes")
        try require(next.settings == verified.head.settings, "settings not adopted")
        try require(FeedCursor(decoding: next.encode()) == next, "a cursor that changes")
        var tampered = bytes
        tampered[Int(UInt64(bitPattern: now) % UInt64(bytes.count))] ^= 1
        let other = try? HeadVerifier(cursor: cursor).verify(tampered.span, now: now)
        try require(other == nil, "a changed head")
    }
}
