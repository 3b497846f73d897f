import WakeSystem

/// How far one gateway is in a broadcast: what is left for it, and what it has counted. Places are
/// those of the ``ScanOrder``. It is written down by buckets, the places of ids that begin with the
/// same 20 bits: what has a bucket with an outcome that is missing is read again as a whole.
struct RunPosition: Sendable, Equatable {
    /// The rows from here on are not read.
    var next: UInt64 = 0
    /// Rows before it were counted, also where they are read again.
    var counted: UInt64 = 0
    /// Places that are read once more before `next`: their wake-ups had no outcome.
    private(set) var again: [Range<UInt64>] = []
    /// Places of wake-ups that wait for another lap, as their host had no room.
    var noted: [UInt64] = []
    var counters = RunCounters()

    /// Puts places in front of those that are left.
    /// - Parameter places: in ascending order.
    mutating func readAgain(_ places: [UInt64]) {
        counted = max(counted, next)
        again = places.map { $0..<$0 + 1 } + again
        followMoves()
    }

    /// Begins another lap, over what was noted.
    mutating func beginLap() {
        let places = noted.sorted()
        noted = []
        counters.deferred = 0
        readAgain(places)
    }

    /// Ranges of one generation to read next, as many as are searched at once.
    var firstAgain: ArraySlice<Range<UInt64>> {
        guard let first = again.first else { return [] }
        let generation = ScanOrder.generation(at: first.lowerBound)
        return again.prefix(ScanOrder.blocksAtOnce).prefix {
            ScanOrder.generation(at: $0.lowerBound) == generation
        }
    }

    mutating func finishAgain(_ count: Int) { again.removeFirst(count) }

    /// A row of previous that is read again may have been renewed since: then it lies anywhere in
    /// current, also where that was read.
    private mutating func followMoves() {
        if again.contains(where: { $0.lowerBound < ScanOrder.currentStart }) {
            next = min(next, ScanOrder.currentStart)
        }
    }

    /// The share of the run that is done, 0 to 1: ids are uniform, so a share of the places is a
    /// share of the rows.
    /// - Parameters:
    ///   - previous: the share of the previous generation in all rows.
    ///   - pending: rows without an outcome.
    func progress(previous: Double, pending: Int) -> Double {
        let read = Double(max(next, counted)) / 0x1p32
        let share = read < 1 ? previous * read : previous + (1 - previous) * (read - 1)
        let rows = Double(counters.rows)
        let left = Double(pending) + Double(counters.deferred)
        return left > 0 ? share * rows / (rows + left) : share
    }
}

extension RunPosition {
    /// Bits of a place within a bucket, and the number of all buckets.
    static let bucketBits: UInt64 = 12
    static let buckets = ScanOrder.end >> bucketBits
    /// Numbers of a list at most.
    static let listLimit = 16_384

    /// Numbers as they are written: those that are always there, then a list of buckets.
    struct Numbers: Equatable {
        var fixed: [UInt64] = []
        var list: [UInt64] = []

        static let fixedCount = 5 + RunCounters.count
    }

    /// - Parameters:
    ///   - place: from which on nothing is complete.
    ///   - pending: places before it of wake-ups without an outcome, in ascending order.
    func numbers(at place: UInt64, pending: [UInt64]) -> Numbers {
        var left = pending
        if !again.isEmpty {
            for range in again {
                left += stride(from: range.lowerBound, to: range.upperBound, by: 1 << 12)
            }
            left.sort()
        }
        let first = Self.shortened(left, by: Self.bucketBits)
        var shift = Self.bucketBits
        var list = first.count < Self.listLimit ? first : []
        // With more the rest is read from the first of them on.
        let next = first.count < Self.listLimit ? place : left[0]
        var later = Self.shortened(noted.sorted(), by: shift)
        while later.count > Self.listLimit - list.count {
            shift += 1
            later = Self.shortened(later, by: 1)
        }
        let count = UInt64(list.count)
        list += later
        return Numbers(
            fixed: [
                next >> Self.bucketBits, max(counted, place) >> Self.bucketBits, count,
                UInt64(later.count), shift,
            ] + counters.numbers, list: list)
    }

    private static func shortened(_ places: [UInt64], by bits: UInt64) -> [UInt64] {
        var numbers: [UInt64] = []
        numbers.reserveCapacity(places.count)
        for place in places where numbers.last != place >> bits { numbers.append(place >> bits) }
        return numbers
    }

    /// nil for what no run writes.
    init?(_ numbers: Numbers) {
        let fixed = numbers.fixed
        guard fixed.count == Numbers.fixedCount, fixed[0] <= fixed[1], fixed[1] <= Self.buckets,
            fixed[2] + fixed[3] == numbers.list.count, (Self.bucketBits...33).contains(fixed[4]),
            numbers.list.allSatisfy({ $0 < Self.buckets })
        else { return nil }
        (next, counted) = (fixed[0] << Self.bucketBits, fixed[1] << Self.bucketBits)
        counters = RunCounters(fixed[5...])
        let count = Int(fixed[2])
        again = Self.ranges(numbers.list[..<count], of: Self.bucketBits)
        let later = Self.ranges(numbers.list[count...], of: fixed[4])
        guard later.allSatisfy({ $0.upperBound <= ScanOrder.end }) else { return nil }
        // Another lap over these comes to the same.
        noted = later.flatMap {
            stride(from: $0.lowerBound, to: $0.upperBound, by: 1 << Int(Self.bucketBits))
        }
        followMoves()
    }

    private static func ranges(_ numbers: ArraySlice<UInt64>, of bits: UInt64) -> [Range<UInt64>] {
        numbers.map { $0 << bits..<($0 + 1) << bits }
    }
}

/// The places of wake-ups that are in flight, in the order in which their rows were read.
struct PendingPlaces {
    /// By number, from `first` on; the greatest once done.
    private var places: [UInt64] = []
    private var first = 0
    /// Those at the front that are done.
    private var finished = 0
    /// The number from which on nothing is done.
    private var boundary = 0

    /// - Returns: the place's number, for `complete`.
    mutating func append(_ place: UInt64) -> Int {
        places.append(place)
        return first + places.count - 1
    }

    /// A row that is done at once.
    mutating func skip() { boundary = first + places.count }

    mutating func complete(_ number: Int) {
        places[number - first] = .max
        boundary = max(boundary, number + 1)
        while finished < places.count, places[finished] == .max { finished += 1 }
        guard finished == places.count || finished >= 1024 else { return }
        places.removeFirst(finished)
        first += finished
        finished = 0
    }

    /// Those without an outcome.
    var left: [UInt64] { places[finished...].filter { $0 != .max } }

    /// Those without an outcome before others with one, and the first place from which on none has
    /// one; nil when all that were read are before it.
    var holes: (places: [UInt64], next: UInt64?) {
        let end = max(finished, boundary - first)
        return (
            places[finished..<end].filter { $0 != .max }, end < places.count ? places[end] : nil
        )
    }
}
