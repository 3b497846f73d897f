import Synchronization
package import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

/// The memory of a running witness: judges, remembers durably, then cosigns; one request after
/// another.
package final class WitnessStore: Sendable {
    /// The outcome of one request.
    package enum Outcome: Sendable, Equatable {
        /// Durable: this line may leave.
        case cosigned([UInt8])
        case refused(WitnessVerdict)
        /// The record could not be written, or the clock is behind what was signed: nothing is
        /// cosigned.
        case unavailable
        /// The log asks too often.
        case tooMany
    }

    private struct State {
        var logs = WitnessedLogs()
        /// Of the file that `logs` was read from.
        var identity: FileStatus.Identity?
        /// By origin.
        var records: [[UInt8]: CosignedCheckpoint] = [:]
        var budgets: [[UInt8]: TokenBucket] = [:]
        var isFailing = false
    }

    /// A cosignature that is asked for again within so many seconds is given again: the same
    /// statement.
    private static let repeatSeconds: Int64 = 5
    /// Durable writes that one log may cause, so that it leaves room for the others.
    private static let writesPerSecond = 20
    private static let writesAtOnce = 200

    private let directory: WitnessDirectory
    private let signer: NoteSigner
    /// Held for as long as this object lives.
    private let lock: OpenFile
    private let report: @Sendable (WitnessEvent) -> Void
    private let state: Mutex<State>
    /// What monitors read, by the identifiers of logs: reading it never waits for the disk.
    private let published: Mutex<[String: [UInt8]]>

    package let key: NoteKey

    /// Reads everything that the witness must remember.
    /// - Throws: when anything of it is missing or damaged: a witness that forgot must not go on.
    package init(
        _ directory: WitnessDirectory, report: @escaping @Sendable (WitnessEvent) -> Void = { _ in }
    ) throws(WitnessDirectoryError) {
        self.directory = directory
        signer = try directory.signer()
        key = signer.verifier(.cosignature)
        lock = try directory.lock()
        self.report = report
        var first = State()
        // Before the list is read: what changes in between is read again.
        first.identity = try? FileStatus(of: directory.logsFile.path).identity
        first.logs = try directory.logs()
        for log in first.logs.logs {
            first.records[log.origin] = try directory.checkpoint(of: log.origin, key: key)
        }
        let notes = first.records.values.compactMap { record in
            record.note.map { (WitnessedLog.identifier(of: record.origin), $0.bytes) }
        }
        published = Mutex(Dictionary(uniqueKeysWithValues: notes))
        state = Mutex(first)
    }

    package var logCount: Int { state.withLock { $0.logs.logs.count } }

    /// `POST add-checkpoint`. Blocks until what is cosigned is on the disk.
    /// - Parameter now: seconds since 1970.
    package func add(
        _ body: [UInt8], now: Int64 = Int64(SystemClock.wallSeconds),
        uptime: UInt64 = SystemClock.monotonicNanoseconds
    ) -> Outcome {
        // The lock is held until the record is durable: of two requests for one log the second is
        // judged by what the first one left.
        state.withLock { state in
            refresh(&state)
            let verdict = WitnessRules.judge(
                body, log: { state.logs.log($0) }, latest: { state.records[$0] })
            guard case .consistent(let checkpoint, let note) = verdict else {
                if verdict == .forked { keepEvidence(body, state) }
                return .refused(verdict)
            }
            return cosign(checkpoint, note, now: now, uptime: uptime, &state)
        }
    }

    /// The latest cosigned checkpoint, as monitors read it; nil for a log without one.
    package func checkpoint(_ identifier: String) -> [UInt8]? {
        published.withLock { $0[identifier] }
    }

    private func cosign(
        _ checkpoint: LogCheckpoint, _ note: SignedNote, now: Int64, uptime: UInt64,
        _ state: inout State
    ) -> Outcome {
        let origin = checkpoint.origin
        guard let latest = state.records[origin] else { return .refused(.unknownOrigin) }
        // A cosignature says which tree is the largest at its time: a clock that went back would
        // have two of them contradict each other.
        guard now >= latest.time else {
            report(.clockBehind(seconds: Int(clamping: latest.time - now)))
            return .unavailable
        }
        if now - latest.time <= Self.repeatSeconds, latest.note?.text == note.text,
            let cosignature = latest.cosignature
        {
            return .cosigned(cosignature.line)
        }
        var budget =
            state.budgets[origin]
            ?? TokenBucket(
                tokens: Self.writesPerSecond, per: .seconds(1), burst: Self.writesAtOnce,
                isFull: true)
        let wait = budget.take(1, now: uptime)
        state.budgets[origin] = budget
        guard wait == nil else { return .tooMany }

        var signed = note
        let cosignature = signer.cosign(note.text, time: now)
        signed.append(cosignature)
        let record = CosignedCheckpoint(checkpoint, time: now, note: signed)
        do throws(StateFileError) {
            try directory.checkpointFile(origin).write(record)
        } catch {
            // The file may be the new one already; nobody has the cosignature.
            if !state.isFailing { report(.storeFailing(error.number)) }
            state.isFailing = true
            return .unavailable
        }
        if state.isFailing { report(.storeRecovered) }
        state.isFailing = false
        state.records[origin] = record
        published.withLock { $0[WitnessedLog.identifier(of: origin)] = signed.bytes }
        report(.cosigned(log: number(of: origin, state), size: record.size))
        return .cosigned(cosignature.line)
    }

    /// The place of a log in the list, from 1: the log says no more of it.
    private func number(of origin: [UInt8], _ state: State) -> Int {
        (state.logs.logs.firstIndex { $0.origin == origin } ?? -1) + 1
    }

    /// Takes up logs that were added since; one call of lstat(2) as long as nothing changes.
    private func refresh(_ state: inout State) {
        let identity = try? FileStatus(of: directory.logsFile.path).identity
        guard identity != state.identity else { return }
        state.identity = identity
        do throws(WitnessDirectoryError) {
            let logs = try directory.logs()
            for log in logs.logs where state.records[log.origin] == nil {
                let record = try directory.checkpoint(of: log.origin, key: key)
                state.records[log.origin] = record
                if let note = record.note {
                    published.withLock { $0[log.identifier] = note.bytes }
                }
            }
            state.logs = logs
            report(.logsChanged(count: logs.logs.count))
        } catch {
            // The logs of before stay.
            report(.logsUnusable)
        }
    }

    /// Keeps the first proof against a log that has two histories.
    private func keepEvidence(_ body: [UInt8], _ state: State) {
        guard let request = AddCheckpointRequest(body) else { return }
        let checkpoint = request.checkpoint.checkpoint
        guard let before = state.records[checkpoint.origin]?.note else { return }
        let path = directory.evidenceFile(checkpoint.origin)
        report(.forked(log: number(of: checkpoint.origin, state), size: checkpoint.size))
        if !Files.exists(path) {
            let both = before.bytes + [UInt8(ascii: "\n")] + request.checkpoint.bytes
            try? Files.create(path, with: both.span)
        }
    }
}

extension StateFileError {
    /// The system's error number; 0 without one.
    fileprivate var number: Int32 { if case .file(let error) = fault { error.number } else { 0 } }
}
