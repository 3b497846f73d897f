import WakeModel
import WakeSystem

/// The writer's loop: whatever arrives while a batch is flushed makes up the next one.
final class Writer {
    private let store: OpenGenerations
    private let grid: AnswerGrid

    init(_ configuration: StoreConfiguration, counters: StoreCounters) throws(StoreOpenError) {
        store = try OpenGenerations(configuration, counters: counters)
        grid = try AnswerGrid(tick: configuration.answerTick)
    }

    /// Serves the mailbox until it is closed and empty, then leaves the files at rest.
    func run(_ mailbox: Mailbox<WriterMessage>, posted: Semaphore) {
        while let messages = mailbox.drain(limit: Limits.batchOperations) {
            if messages.isEmpty {
                if let due = store.logDue { posted.wait(until: due) } else { posted.wait() }
            } else {
                serve(messages)
            }
            store.tidyIfDue()
        }
        grid.close()
        store.close()
    }

    private func serve(_ messages: [WriterMessage]) {
        guard !store.isDead else {
            for message in messages { message.answer(.unavailable) }
            return
        }
        let begun = SystemClock.monotonicNanoseconds
        var batch = Batch(messages)
        if !batch.operations.isEmpty {
            commit(&batch)
            store.counters.add(batch)
            let releases = batch.deliver()
            if batch.writeCount > Limits.griddedWrites {
                for release in releases { release() }
            } else {
                grid.add(releases, begun: begun)
            }
            store.configuration.observe?(batch.report)
        }
        store.copyLogsIfLong()
        for message in messages where !message.isOperation {
            if store.isDead {
                message.answer(.unavailable)
            } else {
                serveBetweenBatches(message)
            }
        }
    }

    // MARK: A batch

    /// One attempt for all; when it fails, one for each, so that no failure affects another.
    private func commit(_ batch: inout Batch) {
        let reserve = store.reserve
        // A long log at this point could not be copied for lack of room; it must not grow.
        let isRoomy = reserve.fill() && !store.isLogLong
        batch.room = isRoomy ? .new : batch.writes ? store.room(for: batch.pages) : .none
        // Whatever was released is allocated again before another process takes it.
        defer { if !reserve.isComplete { _ = reserve.fill() } }
        switch attempt(&batch) {
        case .durable:
            // Only a write shows that writing works.
            if batch.writes {
                store.counters.set(isRoomy ? .ready : reserve.isFailing ? .failing : .full)
            }
        case .undone(let error) where store.isOutOfRoom(error):
            store.counters.set(.full)
            let room = store.room(for: batch.pages)
            batch.room = room == .new ? .moved : room
            if store.isLogLent, case .durable = attempt(&batch) { return }
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
            switch store.isDead ? .unknown : attempt(&single) {
            case .durable: break
            case .undone(let error):
                if !store.isOutOfRoom(error) { store.counters.set(.failing) }
                single.fail()
            case .unknown:
                setFailed()
                single.fail()
            }
            batch.adopt(single, at: index)
        }
    }

    private func setFailed() { store.counters.set(store.isDead ? .failed : .failing) }

    private enum Attempt {
        /// Flushed, and what was erased is in no file: the answers may be delivered.
        case durable
        case undone(SQLiteError)
        /// Committed but perhaps not flushed or not erased: nothing may be acknowledged.
        case unknown
    }

    /// One transaction, one flush, and the logs emptied if anything is to be forgotten: then there
    /// is a second transaction in the previous file, whose commit comes first. A row that is gone
    /// from there alone is none that was acknowledged as deleted, nor one that moves.
    private func attempt(_ batch: inout Batch) -> Attempt {
        batch.restart()
        let transaction = Transaction(store: store)
        do throws(SQLiteError) {
            guard batch.writes else {
                try transaction.perform(&batch)
                return .durable
            }
            try store.current.beginTransaction()
            if batch.hasDeletes { try store.previous.beginTransaction() }
            try transaction.perform(&batch)
            if batch.hasDeletes { try store.previous.commitTransaction(always: true) }
            try store.current.commitTransaction(always: batch.hasDeletes)
        } catch {
            store.fail(error)
            store.undo()
            return store.isDead ? .unknown : .undone(error)
        }
        batch.report.pages = store.countLoggedPages()
        store.countMoved(batch.report.moved)
        store.counters.commits.add()
        guard batch.hasDeletes || store.isLogLent else { return .durable }
        do throws(SQLiteError) {
            try store.emptyLogs()
            batch.report.truncated = true
            return .durable
        } catch {
            store.fail(error)
            return .unknown
        }
    }

    // MARK: Between batches

    private func serveBetweenBatches(_ message: WriterMessage) {
        switch message {
        case .operation, .removal: break
        case .page(let generation, let ranges, let limit, let memory, let answer):
            let rows = min(limit, Limits.pageRows)
            answer(try? store.page(of: generation, in: ranges, limit: rows, memory: memory))
        case .rotation(let answer): answer(Rotation(store).run())
        case .survey(let answer): answer(store.survey())
        case .room(let bytes, let answer): answer(store.giveRoom(bytes))
        }
    }
}
