import WakeFeed
internal import WakeModel
import WakeSystem

/// A builder of batches from items: shuffled, split, padded with decoys, sorted, signed.
struct BatchBuilder {
    let feedID: FeedID
    let key: SigningKey
    /// Time of the signatures, a full minute; seconds since 1970.
    let issued: Int64
    let shape: BatchShape
    let options: PublishOptions
    let random: RandomSource

    struct Built {
        let header: BatchHeader
        let headerHash: HeaderHash
        /// Header and payload.
        let bytes: [UInt8]

        var name: String { FeedHead.batchName(header.sequence, headerHash.suffix) }
    }

    /// Sorts by value; of equal values the real one precedes the decoy.
    private struct Row {
        let value: UInt64
        /// The item's index; `decoy` for none.
        let item: Int
        static let decoy = Int.max

        static func precedes(_ left: Row, _ right: Row) -> Bool {
            left.value != right.value ? left.value < right.value : left.item < right.item
        }
    }

    /// The indices of the items of each batch, chosen at random: in the digests' order each batch
    /// would cover a range of its own, and decoys, which cover all of it, would stand out.
    func parts(of input: FeedInput) -> [[Int]] {
        let capacity = shape.capacity(limit: options.batchDigests)
        guard input.count > capacity else { return [Array(0..<input.count)] }
        let batches = (input.count + capacity - 1) / capacity
        var parts = [[Int]](repeating: [], count: batches)
        // Ascending in each batch: items are then read in the order in which they lie.
        for (index, place) in random.order(input.count).enumerated() {
            parts[place / capacity].append(index)
        }
        return parts
    }

    /// - Parameter part: indices of the items of this batch; none for a cover batch.
    func build(_ input: FeedInput, part: [Int], sequence: UInt64, previous: HeaderHash) -> Built {
        let salt = shape.isSalted ? random.salt() : nil
        let range = DigestRange(count: shape.padded(part.count, options), budget: shape.budget)
        let rows = rows(of: input, part: part, salt: salt, in: range)
        // Header and payload are one array; the header follows when the payload's hash is known.
        var bytes = [UInt8](repeating: 0, count: FeedLimits.headerBytes)
        bytes.reserveCapacity(FeedLimits.headerBytes + shape.mostBytes(rows.count))
        RiceCode.append(rows.map(\.value), of: range, to: &bytes)
        if shape.noteBytes > 0 {
            for row in rows { bytes += sealedNote(for: row, of: input) }
        }
        let payloadBytes = bytes.count - FeedLimits.headerBytes
        let payloadHash = Blake2b.hash(
            bytes.span.extracting(FeedLimits.headerBytes..<bytes.count))
        let header = BatchHeader(
            feedID: feedID, sequence: sequence, issued: issued, count: rows.count,
            budget: shape.budget, kind: shape.noteBytes > 0 ? .notes : .digests,
            noteBytes: shape.noteBytes, salt: salt, previous: previous,
            payloadHash: payloadHash, payloadBytes: payloadBytes)
        let headerBytes = header.encoded(signedWith: key)
        bytes.put(headerBytes, at: 0)
        return Built(
            header: header, headerHash: HeaderHash(ofHeader: headerBytes.span), bytes: bytes)
    }

    private func rows(
        of input: FeedInput, part: [Int], salt: BatchSalt?, in range: DigestRange
    ) -> [Row] {
        var rows: [Row] = []
        rows.reserveCapacity(range.count)
        switch input {
        case .digests(let digests):
            for index in part {
                rows.append(Row(value: range.value(of: digests[index]), item: index))
            }
        case .secrets(let items):
            for index in part {
                let digest = items[index].hash.digest(salt: salt)
                rows.append(Row(value: range.value(of: digest), item: index))
            }
        }
        pad(&rows, in: range)
        return rows
    }

    /// Adds decoys up to the range's count, then sorts, so that their positions say nothing. They
    /// are random digests: their values are as even as those of secrets.
    private func pad(_ rows: inout [Row], in range: DigestRange) {
        while true {
            let decoys = random.bytes((range.count - rows.count) * Digest.bytes)
            for offset in stride(from: 0, to: decoys.count, by: Digest.bytes) {
                let value = range.value(of: Digest(decoys.span, at: offset))
                rows.append(Row(value: value, item: Row.decoy))
            }
            rows.sort(by: Row.precedes)
            // Equal values, which two digests may have by chance, are published once.
            var unique: [Row] = []
            unique.reserveCapacity(rows.count)
            for row in rows where unique.last?.value != row.value { unique.append(row) }
            rows = unique
            if rows.count == range.count { return }
        }
    }

    private func sealedNote(for row: Row, of input: FeedInput) -> [UInt8] {
        guard row.item != Row.decoy, case .secrets(let items) = input,
            let note = items[row.item].note
        else { return random.bytes(shape.noteBytes) }
        return SealedNote.seal(
            note, secret: items[row.item].secret, noteBytes: shape.noteBytes,
            nonce: random.bytes(24))
    }
}

/// A source of random bytes; replaceable, so that format vectors are reproducible.
package struct RandomSource: Sendable {
    private let fill: @Sendable (Int) -> [UInt8]

    /// - Parameter fill: returns the given number of bytes.
    package init(_ fill: @escaping @Sendable (Int) -> [UInt8]) { self.fill = fill }

    package static let system = RandomSource { Sodium.random($0) }

    package func bytes(_ count: Int) -> [UInt8] {
        let bytes = fill(count)
        precondition(bytes.count == count)
        return bytes
    }

    func salt() -> BatchSalt {
        while true {
            if let salt = BatchSalt(bytes(16)) { return salt }
        }
    }

    /// An even random order of `0..<count` (Fisher and Yates).
    func order(_ count: Int) -> [Int] {
        var order = Array(0..<count)
        guard count > 1 else { return order }
        let words = bytes((count - 1) * 8)
        for index in stride(from: count - 1, to: 0, by: -1) {
            let word: UInt64 = words.span.littleEndian(at: (index - 1) * 8)
            // 64 random bits for at most 2²⁶ positions: the bias is below 2⁻³⁸.
            order.swapAt(index, Int(word.multipliedFullWidth(by: UInt64(index + 1)).high))
        }
        return order
    }
}
