import Dispatch
import Synchronization
import WakeModel
import WakePush
import WakeStore

/// Rotates the generations when the schedule says so.
///
/// Its turn comes between two rounds of pushes, never within one: a round walks both tables and
/// must not have them exchanged under its feet. What waits is done as soon as the round has ended.
final class Rotator: Sendable {
    struct State {
        var schedule: RotationSchedule
        /// How the last one ended, in this run of the service.
        var last: RotationOutcome?
        var rotations = 0
        var failures = 0
        var isRotating = false
        fileprivate var nextWriting = ContinuousClock.now
        fileprivate var nextSurvey = ContinuousClock.now
        /// After a failure.
        fileprivate var notBefore = ContinuousClock.now
    }

    private let store: Store
    private let file: RotationFile
    private let log: Log
    private let state: Mutex<State>
    /// Writing blocks: never on a thread that others share.
    private let queue = DispatchQueue(label: "rotation-record")

    /// Between two writings of the age when nothing happens: a power cut loses so much of it.
    private static let writingInterval = Duration.seconds(600)
    private static let surveyInterval = Duration.seconds(60)
    /// What failed is tried again after so long.
    private static let patience = Duration.seconds(600)

    init(store: Store, file: RotationFile, interval: Int, log: Log) {
        self.store = store
        self.file = file
        self.log = log
        state = Mutex(
            State(
                schedule: file.schedule(
                    interval: interval, generation: store.generationNumber, log: log)))
    }

    /// For status, with the age as of now.
    var now: State {
        state.withLock { state in
            state.schedule.advance(to: .system())
            return state
        }
    }

    /// Somebody wants a rotation at the next opportunity. Survives a restart once it is written.
    func ask() {
        state.withLock { state in
            state.schedule.ask()
            state.notBefore = .now
        }
    }

    /// Does what is due. Called again and again, by one task, while no round is in work.
    func turn() async {
        let now = ContinuousClock.now
        if state.withLock({ $0.nextSurvey <= now }) {
            state.withLock { $0.nextSurvey = now + Self.surveyInterval }
            _ = await store.survey()
        }
        let (isDue, owesCompaction, isWriting) = state.withLock { state in
            state.schedule.advance(to: .system())
            let isPatient = state.notBefore <= now
            return (
                isPatient && state.schedule.isDue,
                isPatient && state.schedule.record.owesCompaction, state.nextWriting <= now
            )
        }
        if isDue {
            await rotate()
        } else if owesCompaction {
            await compact()
        } else if isWriting {
            await write()
        }
    }

    /// The last word before the service stops.
    func stop() async { await write() }

    // MARK: Doing

    private func rotate() async {
        state.withLock { state in
            state.schedule.ask()
            state.isRotating = true
        }
        // Written down before it begins, so that a crash does not leave it half done for long.
        await write()
        let outcome = await withTaskCancellationHandler {
            await store.rotate()
        } onCancel: {
            store.stopRotation()
        }
        state.withLock { state in
            state.last = outcome
            state.isRotating = false
            switch outcome {
            case .rotated(let report):
                state.rotations += 1
                state.schedule.rotated(
                    to: report.generation, isCompact: report.compaction.isDone, now: .system())
                if !report.compaction.isDone { state.notBefore = .now + Self.patience }
            case .failed:
                state.failures += 1
                state.notBefore = .now + Self.patience
            }
        }
        await write()
        say(outcome)
    }

    private func say(_ outcome: RotationOutcome) {
        switch outcome {
        case .rotated(let report):
            log(
                .rotated(
                    generation: report.generation, dropped: report.dropped,
                    kept: store.counters.previousRows.load(ordering: .relaxed),
                    milliseconds: report.compaction.milliseconds))
            say(report.compaction)
        case .failed(.stopped): break
        case .failed(let failure): log(.rotationFailed(failure))
        }
    }

    private func compact() async {
        let compaction = await store.compact()
        state.withLock { state in
            if compaction.isDone { state.schedule.compacted() }
            state.notBefore = .now + Self.patience
        }
        if case .done(let bytes, let milliseconds) = compaction {
            await write()
            log(.compacted(bytes: bytes, milliseconds: milliseconds))
        } else {
            say(compaction)
        }
    }

    private func say(_ compaction: Compaction) {
        switch compaction {
        case .done: break
        case .noRoom(let needed, let free): log(.compactionPutOff(needed: needed, free: free))
        case .failed: log(.compactionFailed)
        }
    }

    private func write() async {
        let record = state.withLock { state in
            state.nextWriting = .now + Self.writingInterval
            return state.schedule.record
        }
        let isWritten = await withCheckedContinuation { continuation in
            queue.async { [file] in continuation.resume(returning: file.write(record)) }
        }
        if !isWritten { log(.rotationUnwritable) }
    }
}

extension Compaction {
    var isDone: Bool {
        if case .done = self { true } else { false }
    }

    /// Nothing else was done in.
    var milliseconds: Int {
        if case .done(_, let milliseconds) = self { milliseconds } else { 0 }
    }
}
