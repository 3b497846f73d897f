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
    private var generation = Generation.previous
    /// Buckets of the generation that are passed, in scan order.
    private var passed = 0

    /// A random order for a store of this number of rows.
    init(rows: Int, using random: inout some RandomNumberGenerator) {
        let start = UInt32.random(in: 0..<UInt32(BucketBitmap.buckets), using: &random)
        self.init(start: start, blocks: Self.blockCount(rows: rows), using: &random)
    }

    /// - Parameter blocks: a power of two; the first begins with the bucket `start`.
    init(start: UInt32, blocks: Int, using random: inout some RandomNumberGenerator) {
        precondition(start < BucketBitmap.buckets)
        precondition(blocks > 0 && BucketBitmap.buckets % blocks == 0)
        self.start = start
        self.blocks = [0] + (1..<UInt32(blocks)).shuffled(using: &random)
        bucketsPerBlock = UInt32(BucketBitmap.buckets / blocks)
    }

    /// The number of blocks. Each costs a page; with 4,096 two runs are uncorrelated.
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
            while passed < BucketBitmap.buckets, set.contains(bucket(passed), services) {
                passed += 1
            }
            if passed < BucketBitmap.buckets { return .range(nextRange(notIn: set, services)) }
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
        let first = bucket(passed)
        var last = first
        passed += 1
        // A range ends where the ids do, and where another block is next.
        while last + 1 < BucketBitmap.buckets, passed < BucketBitmap.buckets,
            bucket(passed) == last + 1, !set.contains(last + 1, services)
        {
            last += 1
            passed += 1
        }
        return BucketRange(generation, first: first, last: last)
    }

    private func bucket(_ index: Int) -> UInt32 {
        let index = UInt32(index)
        let block = blocks[Int(index / bucketsPerBlock)]
        let offset = start + block * bucketsPerBlock + index % bucketsPerBlock
        return offset % UInt32(BucketBitmap.buckets)
    }
}
