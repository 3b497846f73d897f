/// Which of the 1,048,576 buckets of one generation are done. A bucket holds the rows whose ids
/// begin with its 20 bits: ids are keyed hashes, so buckets are alike in size and say nothing. Of
/// a million rows each has a bucket nearly to itself: a crash repeats what was in flight, no more.
package struct BucketSet: Sendable, Equatable {
    /// Buckets of a generation.
    package static let buckets = 1 << bits
    /// Bits of an id that name its bucket.
    static let bits = 20
    /// Bytes of a set: bit `bucket % 8` of byte `bucket / 8`.
    static let byteCount = buckets / 8

    private(set) var bytes: [UInt8]
    /// Buckets in the set.
    package private(set) var count: Int

    package init() {
        bytes = [UInt8](repeating: 0, count: Self.byteCount)
        count = 0
    }

    init(_ bytes: ArraySlice<UInt8>) {
        precondition(bytes.count == Self.byteCount)
        self.bytes = Array(bytes)
        count = bytes.reduce(0) { $0 + $1.nonzeroBitCount }
    }

    package var isComplete: Bool { count == Self.buckets }

    package func contains(_ bucket: UInt32) -> Bool {
        bytes[Int(bucket / 8)] & 1 << UInt8(bucket % 8) != 0
    }

    /// - Returns: false when it was in the set already.
    @discardableResult
    package mutating func insert(_ bucket: UInt32) -> Bool {
        guard !contains(bucket) else { return false }
        bytes[Int(bucket / 8)] |= 1 << UInt8(bucket % 8)
        count += 1
        return true
    }
}
