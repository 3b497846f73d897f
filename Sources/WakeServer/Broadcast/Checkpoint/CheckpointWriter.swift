import Dispatch
import WakeModel
import WakeSystem

/// The progress of a run: what to read next, and the checkpoint on disk. Used by one task.
final class CheckpointWriter {
    private var state: Progress
    private var order: ScanOrder
    /// The push services of this pass.
    private var services = ServiceSet.all
    /// What a later pass leaves out: what was done when it began, and rows in flight.
    private var excluded: CompletedBuckets?
    private let log: Log
    private var isWritable = true
    private var nextBuckets = UptimeInstant.now
    private var nextSave = UptimeInstant.now
    private var nextFlush = UptimeInstant.now
    /// Flushing blocks: never on a thread that others share.
    private static let flushQueue = DispatchQueue(label: "checkpoint-flush")

    /// How long buckets may lag behind what is complete, while more of them are.
    private static let bucketInterval = Duration.milliseconds(2)
    /// How long the counters may lag behind the buckets they count.
    private static let saveInterval = Duration.milliseconds(20)
    /// How much of a run a power cut repeats at most.
    private static let flushInterval = Duration.seconds(1)

    init(_ checkpoint: Checkpoint, order: ScanOrder, log: Log) {
        state = Progress(checkpoint: checkpoint)
        self.order = order
        self.log = log
    }

    func progress(previousRows: Int, currentRows: Int) -> Double {
        state.checkpoint.done.progress(previousRows: previousRows, currentRows: currentRows)
    }

    var counters: RunCounters { state.checkpoint.counters }
    var isComplete: Bool { state.checkpoint.done.isComplete }

    /// Push services with a bucket that is not done.
    var incompleteServices: ServiceSet {
        let done = state.checkpoint.done
        return ServiceSet.all.subtracting(
            done.previous.completeServices.intersection(done.current.completeServices))
    }

    /// The next range to read: `begin` follows before its first row is handled.
    func next() -> ScanOrder.Step {
        switch order.next(notIn: excluded ?? state.checkpoint.done, for: services) {
        case .range(let range): .range(range)
        case .wait, .end: state.checkpoint.done.isComplete ? .end : .wait
        }
    }

    func begin(_ ranges: [BucketRange]) { state.completion.begin(ranges, for: services) }

    /// Begins another pass, over what is not done for these push services.
    func beginPass(for services: ServiceSet) {
        saveBuckets()
        state.checkpoint.rewind(for: services)
        order.rewind()
        self.services = services
        var excluded = state.checkpoint.done
        for range in state.completion.pendingRanges { excluded.insert(range, services) }
        self.excluded = excluded
    }

    /// Lends the progress for many rows: each look at a property of an object has its price.
    func withProgress<Result>(_ body: (inout Progress) -> Result) -> Result { body(&state) }

    /// - Parameter services: for which the segment is left to another pass.
    func complete(_ segment: Int, deferring services: ServiceSet = []) {
        state.complete(segment, deferring: services)
    }

    func endRanges() { state.completion.endRanges() }
    func abandonRanges() { state.completion.abandonRanges() }

    /// Goes back to what is not done, after abandoned ranges. Rows that are not complete are read
    /// again; `complete` must not be called for them any more.
    func rewind() {
        state.completion = CompletionTracker()
        state.checkpoint.rewind()
        order.rewind()
        services = .all
        excluded = nil
    }

    /// Saves what is complete, unless that was done a moment ago: each write costs as much as many
    /// rows. `save` follows.
    func saveIfDue(_ counters: RunCounters) {
        let now = UptimeInstant.now
        guard now >= nextBuckets else { return }
        nextBuckets = now + Self.bucketInterval
        save(counters)
    }

    /// Writes down what is complete. Outlives the process; about once a second also the machine.
    func save(_ counters: RunCounters) {
        saveBuckets()
        let now = UptimeInstant.now
        guard now >= nextSave else { return }
        nextSave = now + Self.saveInterval
        attempt { (checkpoint) throws(FileError) in try checkpoint.save(counters) }
        guard now >= nextFlush else { return }
        nextFlush = now + Self.flushInterval
        // What is not flushed, a power cut repeats: no reason to end the run.
        Self.flushQueue.async(execute: state.checkpoint.flush)
    }

    /// The same when nothing follows for now: the counters are those of this moment.
    func close(_ counters: RunCounters) {
        saveBuckets()
        attempt { (checkpoint) throws(FileError) in try checkpoint.save(counters) }
    }

    private func saveBuckets() {
        let completed = state.completion.takeCompleted()
        guard !completed.isEmpty else { return }
        attempt { (checkpoint) throws(FileError) in try checkpoint.markDone(completed) }
    }

    /// A failed write is no reason to end the run: a crash would repeat what is not written.
    private func attempt(_ write: (inout Checkpoint) throws(FileError) -> Void) {
        do throws(FileError) {
            try write(&state.checkpoint)
        } catch {
            if isWritable { log(.checkpointUnwritable) }
            isWritable = false
        }
    }
}

/// The place of a row in the run.
struct RowPlace {
    /// For `complete`.
    let segment: Int
    /// Whether another row of its bucket was read before.
    let isBegun: Bool
    /// Whether the bucket's rows need no push of this push service any more.
    let isDone: Bool
}

extension CheckpointWriter {
    /// What is done, and what is under way.
    struct Progress {
        fileprivate var checkpoint: Checkpoint
        fileprivate var completion = CompletionTracker()

        fileprivate init(checkpoint: Checkpoint) { self.checkpoint = checkpoint }

        /// Registers a row of a bucket of the ranges.
        mutating func read(
            _ bucket: UInt32, of generation: Generation, for service: ServiceSet
        ) -> RowPlace {
            let (segment, isBegun) = completion.didRead(bucket)
            return RowPlace(
                segment: segment, isBegun: isBegun,
                isDone: checkpoint.done.contains(bucket, of: generation, for: service))
        }

        /// - Parameter services: for which the segment is left to another pass.
        mutating func complete(_ segment: Int, deferring services: ServiceSet = []) {
            completion.complete(segment, deferring: services)
        }
    }
}

/// The low-water mark of a scan: the buckets of which all rows have an outcome.
///
/// Rows come in the order of their ids. A segment is a bucket with rows and the empty buckets
/// before it; it is done when its last row was read and all of its rows are complete, for the push
/// services of the pass without those of a row that was deferred.
struct CompletionTracker {
    typealias Completed = (range: BucketRange, services: ServiceSet)

    private struct Segment {
        let range: BucketRange
        var services: ServiceSet
        var pending = 0
        var isRead = false
    }

    /// By number, from `first` on; nil once done.
    private var segments: [Segment?] = []
    private var first = 0
    /// Those at the front that are nil.
    private var finished = 0
    private var completed: [Completed] = []

    /// The ranges that are being read, one after the other: the one that rows have reached, and the
    /// first of its buckets that no row has.
    private var ranges: [BucketRange] = []
    private var current = 0
    private var next: UInt32 = 0
    private var services = ServiceSet.all

    /// - Parameter ranges: one or more, in the order of their rows.
    mutating func begin(_ ranges: [BucketRange], for services: ServiceSet = .all) {
        precondition(self.ranges.isEmpty, "the ranges before have not ended")
        (self.ranges, current, next) = (ranges, 0, ranges[0].first)
        self.services = services
    }

    /// Registers a row of the ranges.
    /// - Returns: the number of its segment, for `complete`, and whether that had a row before.
    mutating func didRead(_ bucket: UInt32) -> (segment: Int, isBegun: Bool) {
        while current < ranges.count, !ranges[current].contains(bucket) { endRange() }
        precondition(current < ranges.count, "a row outside of the ranges")
        let range = ranges[current]
        let isBegun = bucket < next
        if bucket >= next {
            closeLastSegment()
            segments.append(
                Segment(
                    range: BucketRange(range.generation, first: next, last: bucket),
                    services: services))
            next = bucket + 1
        }
        segments[segments.count - 1]?.pending += 1
        return (first + segments.count - 1, isBegun)
    }

    mutating func complete(_ segment: Int, deferring services: ServiceSet = []) {
        segments[segment - first]?.services.subtract(services)
        segments[segment - first]?.pending -= 1
        finish(segment - first)
    }

    /// The ranges of segments that are not done.
    var pendingRanges: [BucketRange] { segments.compactMap { $0?.range } }

    mutating func endRanges() {
        while current < ranges.count { endRange() }
        ranges = []
    }

    private mutating func endRange() {
        closeLastSegment()
        let range = ranges[current]
        if next <= range.last {
            completed.append(
                (BucketRange(range.generation, first: next, last: range.last), services))
        }
        current += 1
        if current < ranges.count { next = ranges[current].first }
    }

    /// Ends them early: the last bucket that was read and those after it are not done.
    mutating func abandonRanges() {
        if let last = segments.indices.last, segments[last]?.isRead == false {
            segments[last]?.services = []
            closeLastSegment()
        }
        ranges = []
    }

    /// The buckets that became done since the last call, neighbours joined.
    mutating func takeCompleted() -> [Completed] {
        let sorted = completed.sorted { $0.range.first < $1.range.first }
        completed = []
        return sorted.reduce(into: []) { all, next in
            if let last = all.last, last.range.generation == next.range.generation,
                last.range.last + 1 == next.range.first, last.services == next.services
            {
                all[all.count - 1].range = BucketRange(
                    next.range.generation, first: last.range.first, last: next.range.last)
            } else {
                all.append(next)
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
        if !segment.services.isEmpty { completed.append((segment.range, segment.services)) }
        segments[index] = nil
        // Numbers stay: only the front is dropped.
        while finished < segments.count, segments[finished] == nil { finished += 1 }
        guard finished == segments.count || finished >= 1024 else { return }
        segments.removeFirst(finished)
        first += finished
        finished = 0
    }
}
