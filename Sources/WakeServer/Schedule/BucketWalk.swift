package import WakeModel

/// The order in which a round visits the buckets: those of the previous generation from a random
/// bucket on, around, then those of the current generation from the same bucket on, around.
///
/// Previous first, because a renewal moves a row from previous to current and never back. A row
/// that moves before its turn is found again in current, which lies wholly ahead; one that moves
/// after its turn had its push. The other way round, a row moving into a bucket of current that is
/// done would get none. For the same reason no bucket of current is handed out until every bucket
/// of previous is marked done, not merely handed out: what was read but not pushed before a crash
/// is read again, and by then a row may have moved.
///
/// The random start hides who is pushed first: neither the push services nor an observer learn
/// from the order of a round anything about another round or about an id.
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
    private var generation = Generation.previous
    /// Buckets of the generation that are passed, counted from `start`.
    private var passed = 0

    package init(start: UInt32) {
        precondition(start < BucketSet.buckets)
        self.start = start
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
        // A piece ends where the ids do: the bucket after the last is the first.
        while last + 1 < BucketSet.buckets, Int(last - first) + 1 < limit,
            passed < BucketSet.buckets,
            !set.contains(last + 1)
        {
            last += 1
            passed += 1
        }
        return BucketRun(generation, first: first, last: last)
    }

    private func bucket(_ passed: Int) -> UInt32 {
        (start + UInt32(passed)) % UInt32(BucketSet.buckets)
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
