import WakeModel

/// A range of neighbouring buckets of one generation. A bucket holds the rows whose ids begin with
/// its 20 bits: ids are keyed hashes, so buckets are alike in size and say nothing.
struct BucketRange: Sendable, Equatable {
    let generation: Generation
    let first: UInt32
    /// Not before `first`: a range never wraps around.
    let last: UInt32

    init(_ generation: Generation, first: UInt32, last: UInt32) {
        precondition(first <= last && last < BucketBitmap.buckets)
        self.generation = generation
        self.first = first
        self.last = last
    }

    var count: Int { Int(last - first) + 1 }
    /// The greatest id before the range, 32 bytes: pages start after it. Empty for bucket 0.
    var after: [UInt8] { first > 0 ? Self.greatestID(first << 4 - 1) : [] }
    var through: [UInt8] { Self.greatestID(last << 4 | 15) }

    private static func greatestID(_ bits: UInt32) -> [UInt8] {
        let prefix = [16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> $0) }
        return prefix + repeatElement(UInt8.max, count: Limits.idBytes - prefix.count)
    }

    func contains(_ id: [UInt8]) -> Bool {
        guard let bucket = Self.bucket(of: id) else { return false }
        return first <= bucket && bucket <= last
    }

    /// The bucket of an id; nil when it has another length than an id.
    static func bucket(of id: [UInt8]) -> UInt32? {
        guard id.count == Limits.idBytes else { return nil }
        return UInt32(id[0]) << 12 | UInt32(id[1]) << 4 | UInt32(id[2] >> 4)
    }
}

/// A set of the 1,048,576 buckets of one generation.
struct BucketBitmap: Sendable, Equatable {
    /// Buckets of a generation: the values of 20 bits.
    static let buckets = 1 << 20
    /// Bytes of a set: bit `bucket % 8` of byte `bucket / 8`.
    static let byteCount = buckets / 8

    private(set) var bytes = [UInt8](repeating: 0, count: byteCount)
    private(set) var count = 0

    init() {}

    init(_ bytes: ArraySlice<UInt8>) {
        precondition(bytes.count == Self.byteCount)
        self.bytes = Array(bytes)
        count = bytes.reduce(0) { $0 + $1.nonzeroBitCount }
    }

    var isComplete: Bool { count == Self.buckets }

    func contains(_ bucket: UInt32) -> Bool {
        bytes[Int(bucket / 8)] & 1 << UInt8(bucket % 8) != 0
    }

    mutating func insert(_ bucket: UInt32) {
        guard !contains(bucket) else { return }
        bytes[Int(bucket / 8)] |= 1 << UInt8(bucket % 8)
        count += 1
    }
}

struct CompletedBuckets: Sendable, Equatable {
    var previous = BucketBitmap()
    var current = BucketBitmap()

    subscript(generation: Generation) -> BucketBitmap {
        generation == .previous ? previous : current
    }

    /// Inserts in place: a set is large.
    mutating func insert(_ range: BucketRange) {
        for bucket in range.first...range.last {
            switch range.generation {
            case .previous: previous.insert(bucket)
            case .current: current.insert(bucket)
            }
        }
    }

    /// The share of the run that is done, 0 to 1: ids are uniform, so a share of the buckets is a
    /// share of the rows. Rows may be estimates; in an empty store both generations weigh the same.
    func progress(previousRows: Int, currentRows: Int) -> Double {
        let rows = Double(previousRows) + Double(currentRows)
        let share = rows > 0 ? Double(previousRows) / rows : 0.5
        let done = share * Double(previous.count) + (1 - share) * Double(current.count)
        return done / Double(BucketBitmap.buckets)
    }
}
