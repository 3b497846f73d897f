import WakeModel

/// The low-water mark of a scan: the buckets of which all rows have an outcome.
///
/// Rows come in the order of their ids. A segment is a bucket with rows and the empty buckets
/// before it; it is done when its last row was read and all of its rows are complete.
struct CompletionTracker {
    private struct Segment {
        let range: BucketRange
        var pending = 0
        var isRead = false
    }

    /// By number, from `first` on; nil once done.
    private var segments: [Segment?] = []
    private var first = 0
    private var completed: [BucketRange] = []

    /// The range that is being read, and the first of its buckets that no row has reached.
    private var range: BucketRange?
    private var next: UInt32 = 0

    mutating func begin(_ range: BucketRange) {
        precondition(self.range == nil, "a range at a time")
        self.range = range
        next = range.first
    }

    /// Registers a row of the range and returns the number of its segment, for `complete`.
    mutating func didRead(_ bucket: UInt32) -> Int {
        guard let range else { preconditionFailure("a row outside of a range") }
        if bucket >= next {
            closeLastSegment()
            segments.append(
                Segment(range: BucketRange(range.generation, first: next, last: bucket)))
            next = bucket + 1
        }
        segments[segments.count - 1]?.pending += 1
        return first + segments.count - 1
    }

    mutating func complete(_ segment: Int) {
        segments[segment - first]?.pending -= 1
        finish(segment - first)
    }

    mutating func endRange() {
        guard let range else { preconditionFailure("no range to end") }
        closeLastSegment()
        if next <= range.last {
            completed.append(BucketRange(range.generation, first: next, last: range.last))
        }
        self.range = nil
    }

    func isBegun(_ bucket: UInt32) -> Bool {
        guard let range else { return false }
        return bucket < next && bucket >= range.first
    }

    /// Ends the range early: its last bucket that was read and those after it are not done.
    mutating func abandonRange() { range = nil }

    /// The buckets that became done since the last call, neighbours joined.
    mutating func takeCompleted() -> [BucketRange] {
        let sorted = completed.sorted { $0.first < $1.first }
        completed = []
        return sorted.reduce(into: []) { ranges, range in
            if let last = ranges.last, last.generation == range.generation,
                last.last + 1 == range.first
            {
                ranges[ranges.count - 1] = BucketRange(
                    range.generation, first: last.first, last: range.last)
            } else {
                ranges.append(range)
            }
        }
    }

    private mutating func closeLastSegment() {
        guard let last = segments.indices.last else { return }
        segments[last]?.isRead = true
        finish(last)
    }

    private mutating func finish(_ index: Int) {
        guard let segment = segments[index], segment.isRead, segment.pending == 0 else { return }
        completed.append(segment.range)
        segments[index] = nil
        // Numbers stay: only the front is dropped.
        let finished = segments.prefix { $0 == nil }.count
        guard finished == segments.count || finished >= 1024 else { return }
        segments.removeFirst(finished)
        first += finished
    }
}
