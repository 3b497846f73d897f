/// Batches that did not come, or not as they were signed, though a later one was checked. They are
/// asked for again in each check, until they come or a head names them no more. Encoded as a list.
package struct MissingBatches: Sendable, Equatable, Codable {
    private struct Batch: Sendable, Equatable, Codable {
        let sequence: UInt64
        /// The hash of its header, as its successor's header says; nil when that is missing, too.
        var hashBytes: [UInt8]?
    }

    /// Ascending, all before the cursor.
    private var batches: [Batch] = []

    package init() {}

    package init(from decoder: any Decoder) throws { batches = try [Batch](from: decoder) }

    package func encode(to encoder: any Encoder) throws { try batches.encode(to: encoder) }

    /// Their numbers, ascending.
    package var sequences: [UInt64] { batches.map(\.sequence) }

    package func contains(_ sequence: UInt64) -> Bool {
        batches.contains { $0.sequence == sequence }
    }

    /// The whole hash of a missing batch's header, with which a `BatchReader` reads it.
    package func hash(of sequence: UInt64) -> HeaderHash? {
        batches.first { $0.sequence == sequence }?.hashBytes.flatMap(HeaderHash.init(stored:))
    }

    /// A batch was checked; those that it passes over are missing from now on.
    /// - Parameter sequence: the cursor's before it.
    package mutating func checked(_ header: BatchHeader, after sequence: UInt64) {
        if sequence < header.sequence {
            batches += (sequence + 1..<header.sequence).map { Batch(sequence: $0) }
        }
        batches.removeAll { $0.sequence == header.sequence }
        if let index = batches.firstIndex(where: { $0.sequence == header.sequence - 1 }) {
            batches[index].hashBytes = header.previous.bytes
        }
    }

    /// Drops those before the oldest batch that a head names, and returns them.
    package mutating func drop(before first: UInt64) -> [UInt64] {
        let dropped = sequences.filter { $0 < first }
        batches.removeFirst(dropped.count)
        return dropped
    }
}

/// The batches that one check asks for, in order, and when it gives up: one that does not come
/// keeps no other waiting, but of those that fail in a row the rest waits for the next check.
package struct BatchQueue: Sendable {
    /// Failures in a row, of any kind, after which the rest waits for the next check. The last one
    /// is of a batch that is drawn: a host that has lost a few in a row may have the others.
    package static let patience = 4

    private var rest: ArraySlice<VerifiedHead.PlannedBatch>
    private var failuresInRow = 0

    /// - Parameter batches: in the order in which they are asked for.
    package init(_ batches: [VerifiedHead.PlannedBatch]) { rest = batches[...] }

    /// The batches to ask for: new ones in order, then those that were missing before.
    /// - Parameter random: in [0, 1).
    package static func order(
        new: [VerifiedHead.PlannedBatch], missing: [VerifiedHead.PlannedBatch],
        random: () -> Double
    ) -> [VerifiedHead.PlannedBatch] {
        // Should some of the missing fail in a row, others come first another time.
        guard missing.count >= patience else { return new + missing }
        let start = Int(random() * Double(missing.count))
        return new + missing[start...] + missing[..<start]
    }

    /// The number of batches that were not asked for.
    package var count: Int { rest.count }

    package mutating func next() -> VerifiedHead.PlannedBatch? {
        failuresInRow < Self.patience ? rest.popFirst() : nil
    }

    package mutating func succeeded() { failuresInRow = 0 }

    /// - Parameter random: in [0, 1).
    package mutating func failed(random: () -> Double) {
        failuresInRow += 1
        guard failuresInRow == Self.patience - 1 else { return }
        rest = rest.dropFirst(Int(random() * Double(rest.count)))
    }
}
