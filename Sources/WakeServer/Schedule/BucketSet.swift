/// Which of the 65,536 buckets of one generation are done. A bucket holds the rows whose ids begin
/// with its two bytes: ids are keyed hashes, so buckets are alike in size and say nothing.
package struct BucketSet: Sendable, Equatable {
    /// Buckets of a generation.
    package static let buckets = 65_536
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

    package func contains(_ bucket: UInt16) -> Bool {
        bytes[Int(bucket / 8)] & 1 << (bucket % 8) != 0
    }

    /// - Returns: false when it was in the set already.
    @discardableResult
    package mutating func insert(_ bucket: UInt16) -> Bool {
        guard !contains(bucket) else { return false }
        bytes[Int(bucket / 8)] |= 1 << (bucket % 8)
        count += 1
        return true
    }
}
