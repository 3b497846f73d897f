private import Synchronization
import WakeModel
import WakeSQLite
import WakeSystem

/// The writer's loop: whatever arrives while a batch is flushed makes up the next one.
final class Writer {
    private let database: OpenDatabase
    private let grid: AnswerGrid
    private var work: Work?

    /// Goes on between batches, a step at a time.
    private enum Work {
        case rotation(Rotation, answer: @Sendable (RotationOutcome) -> Void)
        case compaction(Compaction, answer: @Sendable (CompactionOutcome) -> Void)
    }

    init(_ configuration: StoreConfiguration, counters: StoreCounters) throws(StoreOpenError) {
        let database = try OpenDatabase(configuration, counters: counters)
        self.database = database
        grid = try AnswerGrid(tick: configuration.answerTick)
        if configuration.keyFile == nil {
            try DatabaseReplacement(of: database).replaceByEmpty()
        }
        // Counts pages, for estimates of the rows.
        _ = try mapError(StoreOpenError.init, database.roomyPages())
    }

    /// Serves the mailbox until it is closed and empty, then leaves the files at rest.
    func run(_ mailbox: Mailbox<WriterMessage>, posted: Semaphore) {
        while let messages = mailbox.drain(limit: Limits.batchOperations) {
            if messages.isEmpty, work == nil {
                if let due = database.logDue { posted.wait(until: due) } else { posted.wait() }
            }
            if !messages.isEmpty { serve(messages) }
            advanceWork()
            database.emptyLogIfDue()
        }
        stopWork()
        grid.close()
        database.close()
    }

    private func serve(_ messages: [WriterMessage]) {
        guard database.attach() else {
            for message in messages { message.answer(.unavailable) }
            return
        }
        let begun = SystemClock.monotonicNanoseconds
        var batch = Batch(messages)
        if !batch.operations.isEmpty {
            commit(&batch)
            database.counters.add(batch)
            let releases = batch.deliver()
            if batch.writeCount > Limits.griddedWrites {
                for release in releases { release() }
            } else {
                grid.add(releases, begun: begun)
            }
            database.configuration.observe?(batch.report)
        }
        database.copyLogIfLong()
        for message in messages where !message.isOperation {
            if database.attach() {
                serveBetweenBatches(message)
            } else {
                message.answer(.unavailable)
            }
        }
    }

    // MARK: A batch

    /// One attempt for all; when it fails, one for each, so that no failure affects another.
    private func commit(_ batch: inout Batch) {
        let reserve = database.reserve
        // A long log at this point could not be copied for lack of room; it must not grow.
        let isRoomy = reserve.fill() && !database.isLogLong
        batch.room = isRoomy ? .new : batch.writes ? database.room(for: batch.pages) : .none
        if case .compaction = work { batch.keepsChanges = true }
        // Whatever was released is allocated again before another process takes it.
        defer { if !reserve.isComplete { _ = reserve.fill() } }
        switch attempt(&batch) {
        case .durable:
            // Only a write shows that writing works.
            if batch.writes {
                database.counters.set(isRoomy ? .ready : reserve.isFailing ? .failing : .full)
            }
        case .undone(let error) where database.isOutOfRoom(error):
            database.counters.set(.full)
            let room = database.room(for: batch.pages)
            batch.room = room == .new ? .moved : room
            if database.isLogLent, case .durable = attempt(&batch) { return }
            retrySeparately(&batch)
        case .undone: retrySeparately(&batch)
        case .unknown:
            setFailed()
            batch.fail()
        }
    }

    private func retrySeparately(_ batch: inout Batch) {
        for index in batch.operations.indices {
            var single = batch.single(index)
            switch database.isDead ? .unknown : attempt(&single) {
            case .durable: break
            case .undone(let error):
                if !database.isOutOfRoom(error) { database.counters.set(.failing) }
                single.fail()
            case .unknown:
                setFailed()
                single.fail()
            }
            batch.adopt(single, at: index)
        }
    }

    private func setFailed() { database.counters.set(database.isDead ? .failed : .failing) }

    private enum Attempt {
        /// Flushed, and what was erased is in no file: the answers may be delivered.
        case durable
        case undone(SQLiteError)
        /// Committed but perhaps not flushed or not erased: nothing may be acknowledged.
        case unknown
    }

    /// One transaction, one flush, and the log emptied if anything is to be forgotten.
    private func attempt(_ batch: inout Batch) -> Attempt {
        batch.restart()
        let connection = database.connection
        let transaction = Transaction(database: database)
        do throws(SQLiteError) {
            guard batch.writes else {
                try transaction.perform(&batch)
                return .durable
            }
            try connection.begin.run()
            try transaction.perform(&batch)
            // A delete of nothing changes nothing, and SQLite would not flush. Rewriting the schema
            // version dirties page 1, so that known and unknown take the same way.
            if batch.hasDeletes { try connection.mark.run() }
            try connection.commit.run()
        } catch {
            database.fail(error)
            database.undo()
            return database.isDead ? .unknown : .undone(error)
        }
        batch.report.pages = database.countLoggedPages()
        database.counters.commits.add(1, ordering: .relaxed)
        if case .compaction(let compaction, _) = work {
            compaction.apply(batch.changes, isDurable: batch.hasDeletes)
        }
        guard batch.hasDeletes || database.isLogLent else { return .durable }
        do throws(SQLiteError) {
            try database.truncateLog()
            batch.report.truncated = true
            return .durable
        } catch {
            database.fail(error)
            return .unknown
        }
    }

    // MARK: Between batches

    private func serveBetweenBatches(_ message: WriterMessage) {
        switch message {
        case .operation, .removal, .expiry: break
        case .page(let generation, let ranges, let limit, let memory, let answer):
            let table = database.connection.table(generation)
            // A short read between two commits that never holds back the log.
            let rows = min(limit, Limits.pageRows)
            answer(try? table.page(in: ranges, limit: rows, memory: memory))
        case .rotation(let answer):
            guard work == nil else { return answer(.failed(.running)) }
            work = .rotation(Rotation(database), answer: answer)
        case .compaction(let answer):
            guard work == nil else { return answer(.failed) }
            database.counters.stopsRotation.store(false, ordering: .relaxed)
            work = .compaction(Compaction(database), answer: answer)
        case .survey(let answer): answer(database.survey())
        case .room(let bytes, let answer): answer(database.giveRoom(bytes))
        }
    }

    // MARK: Rotation and compaction

    private func advanceWork() {
        switch work {
        case nil: break
        case .rotation(var rotation, let answer):
            let step = rotation.advance(commit: commit)
            switch step {
            case .goesOn: work = .rotation(rotation, answer: answer)
            case .failed(let failure):
                work = nil
                answer(.failed(failure))
            case .rotated(let generation, let dropped):
                work = .compaction(Compaction(database)) { compaction in
                    answer(
                        .rotated(
                            RotationReport(
                                generation: generation, dropped: dropped, compaction: compaction)))
                }
            }
        case .compaction(let compaction, let answer):
            let isStopped = database.counters.stopsRotation.load(ordering: .relaxed)
            guard let outcome = isStopped ? compaction.stop() : compaction.advance()
            else { return }
            work = nil
            _ = database.survey()
            answer(outcome)
        }
    }

    private func stopWork() {
        switch work {
        case nil: break
        case .rotation(let rotation, let answer): answer(.failed(rotation.stop()))
        case .compaction(let compaction, let answer): answer(compaction.stop())
        }
        work = nil
    }
}
