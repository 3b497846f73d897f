package import WakeModel

/// The order in which a round visits the buckets: those of the previous generation in blocks of
/// neighbours, one block after the other as chance has it, then those of the current generation in
/// the same order.
///
/// Previous first, because a renewal moves a row from previous to current and never back. A row
/// that moves before its turn is found again in current, which lies wholly ahead; one that moves
/// after its turn had its push. The other way round, a row moving into a bucket of current that is
/// done would get none. For the same reason no bucket of current is handed out until every bucket
/// of previous is marked done, not merely handed out: what was read but not pushed before a crash
/// is read again, and by then a row may have moved.
///
/// The order hides who is pushed first: neither the push services nor an observer learn from one
/// round anything about another or about an id, but for neighbours of one block. A round that goes
/// on after a restart may have another order: what is done is known by bucket.
package struct BucketWalk: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        case run(BucketRun)
        /// Everything of this generation is handed out: come back when more is marked done, or
        /// call `again()` when what was handed out could not be done.
        case settle
        /// Everything is done.
        case end
    }

    package let start: UInt32
    /// The order of the blocks, each of as many buckets as the others.
    private let blocks: [UInt32]
    private let blockBuckets: UInt32
    private var generation = Generation.previous
    /// Buckets of the generation that are passed, in the order of the walk.
    private var passed = 0

    /// - Parameters:
    ///   - start: the first bucket; the order of the blocks is drawn from it.
    ///   - blocks: a power of two.
    package init(start: UInt32, blocks: Int = 1) {
        precondition(start < BucketSet.buckets)
        precondition(blocks > 0 && BucketSet.buckets % blocks == 0)
        self.start = start
        var random = SeededGenerator(UInt64(start))
        // Those of the first block keep their place: the walk begins at `start`.
        self.blocks = [0] + (1..<UInt32(blocks)).shuffled(using: &random)
        blockBuckets = UInt32(BucketSet.buckets / blocks)
    }

    /// How many blocks suit so many registrations. Each costs a page to read, which is wasted on
    /// few registrations; with 4,096 two orders of a large store are uncorrelated.
    package static func blocks(forRows rows: Int) -> Int {
        var blocks = 64
        while blocks < min(rows, 4096) { blocks *= 2 }
        return blocks
    }

    /// Nothing comes after this generation.
    package var isInLast: Bool { generation == .current }

    /// The next piece not done yet.
    /// - Parameters:
    ///   - limit: buckets in the piece at most.
    package mutating func next(notIn done: RoundBuckets, limit: Int = 1) -> Step {
        precondition(limit > 0)
        while true {
            let set = done[generation]
            while passed < BucketSet.buckets, set.contains(bucket(passed)) { passed += 1 }
            if passed < BucketSet.buckets { return .run(take(notIn: set, limit)) }
            guard set.isComplete else { return .settle }
            guard generation == .previous else { return .end }
            generation = .current
            passed = 0
        }
    }

    /// Goes back to the first bucket of this generation that is not done: for pieces that were
    /// handed out and failed, once none is in work any more.
    package mutating func again() { passed = 0 }

    private mutating func take(notIn set: BucketSet, _ limit: Int) -> BucketRun {
        let first = bucket(passed)
        var last = first
        passed += 1
        // A piece ends where the ids do, and where another block is next.
        while last + 1 < BucketSet.buckets, Int(last - first) + 1 < limit,
            passed < BucketSet.buckets, bucket(passed) == last + 1,
            !set.contains(last + 1)
        {
            last += 1
            passed += 1
        }
        return BucketRun(generation, first: first, last: last)
    }

    private func bucket(_ passed: Int) -> UInt32 {
        let place = UInt32(passed)
        let block = blocks[Int(place / blockBuckets)]
        return (start + block * blockBuckets + place % blockBuckets) % UInt32(BucketSet.buckets)
    }
}

/// What of a round is done, for both generations.
package struct RoundBuckets: Sendable, Equatable {
    var previous: BucketSet
    var current: BucketSet

    package init() {
        previous = BucketSet()
        current = BucketSet()
    }

    init(previous: BucketSet, current: BucketSet) {
        self.previous = previous
        self.current = current
    }

    package subscript(generation: Generation) -> BucketSet {
        generation == .previous ? previous : current
    }

    /// In place: a set is large.
    package mutating func insert(_ run: BucketRun) {
        for bucket in run.first...run.last {
            switch run.generation {
            case .previous: previous.insert(bucket)
            case .current: current.insert(bucket)
            }
        }
    }

    /// How much of the round is done, 0 to 1: ids are uniform, so the position in the space of ids
    /// is the share of the rows.
    /// - Parameters:
    ///   - previousRows: rows of the previous generation, an estimate.
    ///   - currentRows: rows of the current generation, an estimate.
    package func progress(previousRows: Int, currentRows: Int) -> Double {
        let rows = Double(previousRows) + Double(currentRows)
        // Of an empty store, the space of ids itself.
        let share = rows > 0 ? Double(previousRows) / rows : 0.5
        let done =
            share * Double(previous.count) + (1 - share) * Double(current.count)
        return done / Double(BucketSet.buckets)
    }
}
