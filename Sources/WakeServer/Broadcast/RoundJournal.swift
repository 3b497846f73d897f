import Dispatch
import WakeFiles
import WakeModel

/// Where a round stands: what is to be read next, what of it is settled, and the record on disk
/// from which a crash goes on. Used by one task.
final class RoundJournal {
    private var record: RoundRecord
    private var walk: BucketWalk
    private var stretches = WalkStretches()
    private let log: Log
    private var isWritable = true
    private var nextKeep = ContinuousClock.now
    private var nextSync = ContinuousClock.now
    /// Flushing blocks: never on a thread that others share.
    private static let flushing = DispatchQueue(label: "round-record")

    /// What the counters may lag behind the buckets they count.
    private static let keepInterval = Duration.milliseconds(20)
    /// A power cut repeats at most so much.
    private static let syncInterval = Duration.seconds(1)

    /// - Parameter blocks: see `BucketWalk`.
    init(_ record: RoundRecord, log: Log, blocks: Int = 1) {
        self.record = record
        self.log = log
        walk = BucketWalk(start: record.header.startBucket, blocks: blocks)
    }

    /// 0 to 1.
    func progress(previousRows: Int, currentRows: Int) -> Double {
        record.done.progress(previousRows: previousRows, currentRows: currentRows)
    }

    /// As kept when the record was opened.
    var counters: RoundCounters { record.counters }

    /// What is to be read next: neighbouring buckets that are not done, as many as there are.
    func next() -> BucketWalk.Step {
        let step = walk.next(notIn: record.done, limit: BucketSet.buckets)
        if case .run(let run) = step { stretches.begin(run) }
        return step
    }

    /// All that is left to be read is being settled: nothing will be sent after it.
    var isInLast: Bool { walk.isInLast }

    /// A row of the run was read.
    /// - Returns: what to say `settle` with.
    func read(_ id: [UInt8]) -> Int {
        guard let bucket = BucketRun.bucket(of: id) else {
            preconditionFailure("an id of another length")
        }
        return stretches.read(bucket)
    }

    /// Whether the last row that was read is of the same bucket.
    func continues(_ id: [UInt8]) -> Bool {
        BucketRun.bucket(of: id).map(stretches.continues) ?? false
    }

    /// A row needs nothing more in this round.
    func settle(_ stretch: Int) { stretches.settle(stretch) }

    /// The last row of the run was read.
    func endRun() { stretches.end() }

    /// The run could not be read to its end: what is left of it is not done.
    func breakOff() { stretches.breakOff() }

    /// Goes back to what is not done, after a run that was broken off. Rows that were not settled
    /// by now are read again: nobody may settle them any more.
    func again() {
        stretches = WalkStretches()
        walk.again()
    }

    /// Writes down what is settled. Outlives the process; about once a second also the machine.
    func keep(_ counters: RoundCounters) {
        keepDone()
        let now = ContinuousClock.now
        guard now >= nextKeep else { return }
        nextKeep = now + Self.keepInterval
        attempt { (record) throws(FileError) in try record.keep(counters) }
        guard now >= nextSync else { return }
        nextSync = now + Self.syncInterval
        let flush = record.flush
        // What is not flushed, a power cut repeats: no reason to end the round.
        Self.flushing.async { flush() }
    }

    /// The same when nothing will follow for now: the counters are those of this moment.
    func close(_ counters: RoundCounters) {
        keepDone()
        attempt { (record) throws(FileError) in try record.keep(counters) }
    }

    private func keepDone() {
        for run in stretches.takeDone() {
            attempt { (record) throws(FileError) in try record.markDone(run) }
        }
    }

    /// What cannot be written is done all the same: a crash would repeat it, the round goes on.
    private func attempt(_ write: (inout RoundRecord) throws(FileError) -> Void) {
        do throws(FileError) {
            try write(&record)
        } catch {
            if isWritable { log(.roundUnwritable) }
            isWritable = false
        }
    }
}
