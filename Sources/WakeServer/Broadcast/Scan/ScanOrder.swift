import WakeModel

/// The order in which a broadcast run reads the buckets: those of the previous generation in blocks
/// of neighbours, the blocks in random order, then those of the current generation in the same
/// order.
///
/// Previous first, because a renewal moves a row from previous to current and never back: one that
/// moves before it is read is found again in current, one that moves later had its push, or gets
/// it. Current does not wait for the last outcomes of previous, see `Checkpoint.markDone`.
///
/// A pass reads what is not done for some push services: the first for all, the others for those
/// whose rows had to wait.
///
/// The order hides who is pushed first: nobody learns from one run about another or about an id,
/// except for neighbours within a block. After a restart a run continues in another order.
struct ScanOrder: Equatable {
    enum Step: Equatable {
        case range(BucketRange)
        /// Every bucket was returned: more is left when more is done, or in another pass.
        case wait
        case end
    }

    private let start: UInt32
    private let blocks: [UInt32]
    private let bucketsPerBlock: UInt32
    /// The most neighbours that are read at once.
    private let bucketsPerRange: Int
    private var generation = Generation.previous
    /// Buckets of the generation that are passed, in scan order.
    private var passed = 0

    /// A random order for a store of this number of rows.
    init(rows: Int, using random: inout some RandomNumberGenerator) {
        let start = UInt32.random(in: 0..<UInt32(BucketBitmap.buckets), using: &random)
        // Two thirds of a page: hardly any range needs a second one.
        let range = BucketBitmap.buckets * Limits.scanRows * 2 / 3 / max(1, rows)
        self.init(
            start: start, blocks: Self.blockCount(rows: rows), bucketsPerRange: max(1, range),
            using: &random)
    }

    /// - Parameter blocks: a power of two; the first begins with the bucket `start`.
    init(
        start: UInt32, blocks: Int, bucketsPerRange: Int = BucketBitmap.buckets,
        using random: inout some RandomNumberGenerator
    ) {
        precondition(start < BucketBitmap.buckets)
        precondition(blocks > 0 && BucketBitmap.buckets % blocks == 0)
        self.start = start
        self.blocks = [0] + (1..<UInt32(blocks)).shuffled(using: &random)
        bucketsPerBlock = UInt32(BucketBitmap.buckets / blocks)
        self.bucketsPerRange = bucketsPerRange
    }

    /// The number of blocks. Each costs a search; with 4,096 two runs are uncorrelated.
    static func blockCount(rows: Int) -> Int {
        var blocks = 64
        while blocks < min(rows, 4096) { blocks *= 2 }
        return blocks
    }

    mutating func next(
        notIn done: CompletedBuckets, for services: ServiceSet = .all
    ) -> Step {
        while true {
            let set = done[generation]
            while passed < BucketBitmap.buckets {
                let next = neighbours(passed)
                guard set.contains(next.first, services) else {
                    return .range(nextRange(notIn: set, services))
                }
                passed += set.runLength(from: next.first, most: next.count)
            }
            guard generation == .previous else { return done.isComplete ? .end : .wait }
            generation = .current
            passed = 0
        }
    }

    /// Goes back to the first bucket that is not done, once none is being read.
    mutating func rewind() {
        generation = .previous
        passed = 0
    }

    private mutating func nextRange(
        notIn set: BucketBitmap, _ services: ServiceSet
    ) -> BucketRange {
        let first = neighbours(passed).first
        var end = first
        var left = bucketsPerRange
        // A range ends where the ids do, and where another block is next.
        while passed < BucketBitmap.buckets, left > 0 {
            let next = neighbours(passed)
            guard next.first == end, !set.contains(end, services) else { break }
            let run = set.runLength(from: end, most: min(next.count, left))
            left -= run
            end += UInt32(run)
            passed += run
        }
        return BucketRange(generation, first: first, last: end - 1)
    }

    /// The bucket at a position of the order, and how many positions on lead to its neighbours.
    private func neighbours(_ position: Int) -> (first: UInt32, count: Int) {
        let position = UInt32(position)
        let block = blocks[Int(position / bucketsPerBlock)]
        let place = position % bucketsPerBlock
        let all = UInt32(BucketBitmap.buckets)
        let first = (start + block * bucketsPerBlock + place) % all
        return (first, Int(min(bucketsPerBlock - place, all - first)))
    }
}
