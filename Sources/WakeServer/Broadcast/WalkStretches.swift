import WakeModel

/// Which buckets of a walk can be marked as done: those whose rows are all settled, together with
/// the empty ones before them.
///
/// Rows come in the order of their ids. A stretch is a bucket with rows and the empty buckets
/// before it; it is done when its last row has been read and all of its rows are settled.
struct WalkStretches {
    private struct Stretch {
        let run: BucketRun
        var unsettled = 0
        /// No more rows will come.
        var isRead = false
    }

    /// Those that are not done, by number, and those done ones between them.
    private var stretches: [Stretch?] = []
    /// The number of the first of `stretches`.
    private var first = 0
    private var done: [BucketRun] = []

    /// The run that is being read, and the first of its buckets that no row has reached.
    private var run: BucketRun?
    private var next: UInt32 = 0

    /// Begins a run; the one before must have ended.
    mutating func begin(_ run: BucketRun) {
        precondition(self.run == nil, "a run at a time")
        self.run = run
        next = run.first
    }

    /// A row of the run was read.
    /// - Returns: the number of its stretch, for `settle`.
    mutating func read(_ bucket: UInt32) -> Int {
        guard let run else { preconditionFailure("a row outside of a run") }
        if bucket >= next {
            closeLast()
            let stretch = BucketRun(run.generation, first: next, last: bucket)
            stretches.append(Stretch(run: stretch))
            next = bucket + 1
        }
        stretches[stretches.count - 1]?.unsettled += 1
        return first + stretches.count - 1
    }

    /// A row of a stretch needs nothing more.
    mutating func settle(_ number: Int) {
        stretches[number - first]?.unsettled -= 1
        finish(number - first)
    }

    /// The last row of the run has been read.
    mutating func end() {
        guard let run else { preconditionFailure("no run to end") }
        closeLast()
        if next <= run.last { done.append(BucketRun(run.generation, first: next, last: run.last)) }
        self.run = nil
    }

    /// Whether the last row that was read is of this bucket, too.
    func continues(_ bucket: UInt32) -> Bool {
        guard let run else { return false }
        return bucket < next && bucket >= run.first
    }

    /// The run is not read any further: buckets that no row has reached are not done, nor is the
    /// last, which may have more rows than were read. What was read can still be settled; then a
    /// walk of its own begins.
    mutating func breakOff() {
        run = nil
    }

    /// What has become done since the last call, neighbours joined.
    mutating func takeDone() -> [BucketRun] {
        let sorted = done.sorted { $0.first < $1.first }
        done = []
        return sorted.reduce(into: []) { runs, run in
            if let last = runs.last, last.generation == run.generation, last.last + 1 == run.first {
                runs[runs.count - 1] = BucketRun(run.generation, first: last.first, last: run.last)
            } else {
                runs.append(run)
            }
        }
    }

    private mutating func closeLast() {
        guard let last = stretches.indices.last else { return }
        stretches[last]?.isRead = true
        finish(last)
    }

    private mutating func finish(_ index: Int) {
        guard let stretch = stretches[index], stretch.isRead, stretch.unsettled == 0 else { return }
        done.append(stretch.run)
        stretches[index] = nil
        // Numbers stay what they are: only what lies in front is forgotten.
        let finished = stretches.prefix { $0 == nil }.count
        guard finished == stretches.count || finished >= 1024 else { return }
        stretches.removeFirst(finished)
        first += finished
    }
}
