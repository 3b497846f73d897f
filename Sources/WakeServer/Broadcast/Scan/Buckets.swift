import WakeModel
import WakeStore
import WakeSystem

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
    var ids: IDRange {
        IDRange(
            after: first > 0 ? Self.greatestID(first << 4 - 1) : [],
            through: Self.greatestID(last << 4 | 15))
    }

    private static func greatestID(_ bits: UInt32) -> [UInt8] {
        let prefix = [16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> $0) }
        return prefix + repeatElement(UInt8.max, count: Limits.idBytes - prefix.count)
    }

    func contains(_ bucket: UInt32) -> Bool { first <= bucket && bucket <= last }

    func contains(_ id: [UInt8]) -> Bool {
        guard id.count == Limits.idBytes else { return false }
        return contains(Self.bucket(ofPrefix: id.span.bigEndian(at: 0)))
    }

    /// The bucket of an id.
    /// - Parameter prefix: its first 32 bits.
    static func bucket(ofPrefix prefix: UInt32) -> UInt32 { prefix >> 12 }
}

/// For each of the 1,048,576 buckets of one generation, the push services that it is done for: the
/// rows of these need no push any more.
struct BucketBitmap: Sendable, Equatable {
    /// Buckets of a generation: the values of 20 bits.
    static let buckets = 1 << 20

    /// A ``ServiceSet`` for each bucket.
    private(set) var bytes: [UInt8]
    /// Buckets that are done for all.
    private(set) var count = 0
    /// Buckets that are done for some, by the bits of these.
    private var partial = [Int](repeating: 0, count: UInt8.bitWidth)

    init() { bytes = [UInt8](repeating: 0, count: Self.buckets) }

    init(_ bytes: ArraySlice<UInt8>) {
        precondition(bytes.count == Self.buckets)
        self.bytes = Array(bytes)
        var next = 0
        while next < Self.buckets {
            let run = self.bytes.span.runLength(at: next, most: Self.buckets)
            add(self.bytes[next], run)
            next += run
        }
    }

    var isComplete: Bool { count == Self.buckets }

    /// The push services that every bucket is done for.
    var completeServices: ServiceSet {
        if isComplete { return .all }
        var services: ServiceSet = []
        for bit in partial.indices where partial[bit] + count == Self.buckets {
            services.insert(ServiceSet(rawValue: 1 << UInt8(bit)))
        }
        return services
    }

    func contains(_ bucket: UInt32, _ services: ServiceSet = .all) -> Bool {
        bytes[Int(bucket)] & services.rawValue == services.rawValue
    }

    /// The number of buckets, from one on, that are done for the same push services.
    /// - Parameter most: 1 or more.
    func runLength(from bucket: UInt32, most: Int) -> Int {
        bytes.span.runLength(at: Int(bucket), most: most)
    }

    mutating func insert(_ buckets: ClosedRange<UInt32>, _ services: ServiceSet = .all) {
        change(Int(buckets.lowerBound)..<Int(buckets.upperBound) + 1) { $0 | services.rawValue }
    }

    /// Marks every bucket as not done for these push services.
    mutating func remove(_ services: ServiceSet) {
        guard !services.isEmpty else { return }
        change(0..<Self.buckets) { $0 & ~services.rawValue }
    }

    /// Buckets are mostly like their neighbours: they are changed by runs of equal ones.
    private mutating func change(_ buckets: Range<Int>, _ body: (UInt8) -> UInt8) {
        var next = buckets.lowerBound
        while next < buckets.upperBound {
            let most = buckets.upperBound - next
            let run = next..<next + bytes.span.runLength(at: next, most: most)
            replace(run, by: body(bytes[next]))
            next = run.upperBound
        }
    }

    /// - Parameter run: equal ones.
    private mutating func replace(_ run: Range<Int>, by byte: UInt8) {
        let was = bytes[run.lowerBound]
        guard byte != was else { return }
        bytes.fill(run, with: byte)
        add(was, -run.count)
        add(byte, run.count)
    }

    /// Counts buckets with these bits, or no longer.
    private mutating func add(_ byte: UInt8, _ change: Int) {
        guard byte != .max else { return count += change }
        var left = byte
        while left != 0 {
            partial[left.trailingZeroBitCount] += change
            left &= left - 1
        }
    }
}

struct CompletedBuckets: Sendable, Equatable {
    private(set) var previous = BucketBitmap()
    private(set) var current = BucketBitmap()

    subscript(generation: Generation) -> BucketBitmap {
        generation == .previous ? previous : current
    }

    var isComplete: Bool { previous.isComplete && current.isComplete }

    init() {}

    init(previous: BucketBitmap, current: BucketBitmap) {
        self.previous = previous
        self.current = current
    }

    /// In place, as inserting is: a set is large.
    func contains(_ bucket: UInt32, of generation: Generation, for services: ServiceSet) -> Bool {
        switch generation {
        case .previous: previous.contains(bucket, services)
        case .current: current.contains(bucket, services)
        }
    }

    /// Inserts in place: a set is large.
    mutating func insert(_ range: BucketRange, _ services: ServiceSet = .all) {
        switch range.generation {
        case .previous: previous.insert(range.first...range.last, services)
        case .current: current.insert(range.first...range.last, services)
        }
    }

    /// Forgets what is done of current for push services of which a row of previous has no outcome:
    /// a renewal may have moved that row to a bucket of current that is done.
    mutating func forgetCurrent(of services: ServiceSet = .all) {
        current.remove(services.subtracting(previous.completeServices))
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

/// A set of push services. The raw value is a byte of the checkpoint and never changes meaning.
struct ServiceSet: OptionSet, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }
    init(_ service: PushService) { rawValue = 1 << (service.rawValue - 1) }

    /// Those to come, too: of a push service without a gateway nothing is left to do.
    static let all = ServiceSet(rawValue: .max)
}
