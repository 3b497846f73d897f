import Dispatch
import WakeModel
import WakeSystem

/// The progress of a run: what to read next, and the checkpoint on disk. Used by one task.
final class CheckpointWriter {
    private var checkpoint: Checkpoint
    private var order: ScanOrder
    private var completion = CompletionTracker()
    private let log: Log
    private var isWritable = true
    private var nextSave = ContinuousClock.now
    private var nextFlush = ContinuousClock.now
    /// Flushing blocks: never on a thread that others share.
    private static let flushQueue = DispatchQueue(label: "checkpoint-flush")

    /// How long the counters may lag behind the buckets they count.
    private static let saveInterval = Duration.milliseconds(20)
    /// How much of a run a power cut repeats at most.
    private static let flushInterval = Duration.seconds(1)

    init(_ checkpoint: Checkpoint, order: ScanOrder, log: Log) {
        self.checkpoint = checkpoint
        self.order = order
        self.log = log
    }

    func progress(previousRows: Int, currentRows: Int) -> Double {
        checkpoint.done.progress(previousRows: previousRows, currentRows: currentRows)
    }

    var counters: RunCounters { checkpoint.counters }

    func next() -> ScanOrder.Step {
        let step = order.next(notIn: checkpoint.done)
        if case .range(let range) = step { completion.begin(range) }
        return step
    }

    /// Whether everything was read but what the current generation's deliveries still need.
    var isInLastGeneration: Bool { order.isInLastGeneration }

    /// Registers a row of the range and returns its segment, for `complete`.
    func didRead(_ id: [UInt8]) -> Int {
        guard let bucket = BucketRange.bucket(of: id) else {
            preconditionFailure("an id of another length")
        }
        return completion.didRead(bucket)
    }

    /// Whether the last row that was read is of the same bucket.
    func isInBegunBucket(_ id: [UInt8]) -> Bool {
        BucketRange.bucket(of: id).map(completion.isBegun) ?? false
    }

    func complete(_ segment: Int) { completion.complete(segment) }
    func endRange() { completion.endRange() }
    /// The range could not be read to its end: what is left of it is not done.
    func abandonRange() { completion.abandonRange() }

    /// Goes back to what is not done, after an abandoned range. Rows that are not complete are read
    /// again; `complete` must not be called for them any more.
    func rewind() {
        completion = CompletionTracker()
        order.rewind()
    }

    /// Writes down what is complete. Outlives the process; about once a second also the machine.
    func save(_ counters: RunCounters) {
        saveBuckets()
        let now = ContinuousClock.now
        guard now >= nextSave else { return }
        nextSave = now + Self.saveInterval
        attempt { (checkpoint) throws(FileError) in try checkpoint.save(counters) }
        guard now >= nextFlush else { return }
        nextFlush = now + Self.flushInterval
        // What is not flushed, a power cut repeats: no reason to end the run.
        Self.flushQueue.async(execute: checkpoint.flush)
    }

    /// The same when nothing follows for now: the counters are those of this moment.
    func close(_ counters: RunCounters) {
        saveBuckets()
        attempt { (checkpoint) throws(FileError) in try checkpoint.save(counters) }
    }

    private func saveBuckets() {
        for range in completion.takeCompleted() {
            attempt { (checkpoint) throws(FileError) in try checkpoint.markDone(range) }
        }
    }

    /// A failed write is no reason to end the run: a crash would repeat what is not written.
    private func attempt(_ write: (inout Checkpoint) throws(FileError) -> Void) {
        do throws(FileError) {
            try write(&checkpoint)
        } catch {
            if isWritable { log(.checkpointUnwritable) }
            isWritable = false
        }
    }
}
