package import WakeModel

/// Neighbouring buckets of one generation: a piece of a broadcast's walk, read in one or a few
/// pages and marked as done as one.
package struct BucketRun: Sendable, Equatable {
    package let generation: Generation
    /// The first 20 bits of an id as a number, the more significant first.
    package let first: UInt32
    /// Not before `first`: a run never wraps around.
    package let last: UInt32

    package init(_ generation: Generation, first: UInt32, last: UInt32) {
        precondition(first <= last && last < BucketSet.buckets)
        self.generation = generation
        self.first = first
        self.last = last
    }

    package var count: Int { Int(last - first) + 1 }

    /// A page of rows with `id > after` begins with the first row of the run: the greatest id
    /// before it, 32 bytes; empty before the first bucket of all, where there is none.
    package var after: [UInt8] {
        guard first > 0 else { return [] }
        // The 20 bits before, and ones behind them.
        let before = first << 4 - 1
        let prefix = [16, 8, 0].map { UInt8(truncatingIfNeeded: before >> $0) }
        return prefix + repeatElement(UInt8.max, count: Limits.idBytes - prefix.count)
    }

    /// No row of the run has a greater id, 32 bytes.
    package var through: [UInt8] {
        let prefix = [16, 8, 0].map { UInt8(truncatingIfNeeded: (last << 4 | 15) >> $0) }
        return prefix + repeatElement(UInt8.max, count: Limits.idBytes - prefix.count)
    }

    /// Whether a row belongs to the run. Rows come in the order of their ids: the first that does
    /// not belong ends the reading.
    package func contains(_ id: [UInt8]) -> Bool {
        guard let bucket = Self.bucket(of: id) else { return false }
        return first <= bucket && bucket <= last
    }

    /// The bucket of an id; nil for what is none.
    package static func bucket(of id: [UInt8]) -> UInt32? {
        guard id.count == Limits.idBytes else { return nil }
        return UInt32(id[0]) << 12 | UInt32(id[1]) << 4 | UInt32(id[2] >> 4)
    }
}
