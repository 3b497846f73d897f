import WakeModel
import WakeSQLite

extension Writer {
    /// Runs every operation of a batch, in order, inside the open transaction.
    func perform(_ batch: inout Batch) throws(SQLiteError) {
        let registers = batch.operations.count
        // Far from the cap nothing needs counting.
        let isRoomy = try roomyPages() >= (registers + 1) * Limits.pagesPerInsert
        for request in batch.operations {
            switch request {
            case .operation(.register(let token, let pushToken), _):
                batch.report.registers += 1
                let answer = try register(token, pushToken, isRoomy: isRoomy, &batch)
                batch.append(answer)
            case .operation(.delete(let token), _):
                batch.report.deletes += 1
                try delete(token, &batch)
                batch.append(.done)
            case .operation(.read(let token), _):
                let stored = try read(token)
                batch.append(stored)
            case .removal(let generation, let id, let sealed, _):
                batch.report.deletes += 1
                let removed = try table(generation).remove(id, ifStill: sealed)
                batch.note(removed)
                batch.append(.done)
            case .expiry(let rows):
                let erased = try previous.removeFirst(rows)
                batch.report.erased += erased
                batch.report.statements += 1
                batch.append(.done)
            case .page, .rotation, .compaction, .survey:
                preconditionFailure("done between batches")
            }
        }
    }

    /// The same statements for a registration that is new, changed, repeated or moved over from
    /// the previous generation.
    private func register(
        _ token: InstanceToken, _ pushToken: PushToken, isRoomy: Bool, _ batch: inout Batch
    ) throws(SQLiteError) -> StoreAnswer {
        guard batch.mayGrow else { return .full }
        let id = current.keys.id(of: token)
        if !isRoomy, try roomyPages() < Limits.pagesPerInsert, try !current.contains(id) {
            return .full
        }
        let sealed = current.keys.seal(pushToken, id: id)
        let expiring = try previous.remove(previous.keys.id(of: token))
        batch.note(expiring)
        let overwritten = try current.put(id, sealed)
        batch.note(overwritten)
        batch.report.statements += 1
        return .done
    }

    /// The same statements whether there is a row, was one, or never was.
    private func delete(_ token: InstanceToken, _ batch: inout Batch) throws(SQLiteError) {
        let inCurrent = try current.remove(current.keys.id(of: token))
        batch.note(inCurrent)
        let inPrevious = try previous.remove(previous.keys.id(of: token))
        batch.note(inPrevious)
    }

    private func read(_ token: InstanceToken) throws(SQLiteError) -> StoreAnswer {
        let inCurrent = try find(token, in: current)
        let inPrevious = try find(token, in: previous)
        switch (inCurrent, inPrevious) {
        // A row that does not open was damaged on the disk: that is not "nothing stored".
        case (.unreadable, _), (.absent, .unreadable): return .unavailable
        case (.found(let registration), _), (.absent, .found(let registration)):
            return .stored(registration)
        case (.absent, .absent): return .stored(nil)
        }
    }

    private enum Finding {
        case absent
        case unreadable
        case found(StoredRegistration)
    }

    private func find(
        _ token: InstanceToken, in table: GenerationTable
    ) throws(SQLiteError) -> Finding {
        let id = table.keys.id(of: token)
        guard let sealed = try table.sealed(id) else { return .absent }
        guard let pushToken = table.keys.open(sealed, id: id) else { return .unreadable }
        return .found(
            StoredRegistration(
                generation: table.generation, id: id, sealed: sealed, token: pushToken))
    }

    private func table(_ generation: Generation) -> GenerationTable {
        generation == .current ? current : previous
    }

    /// What is done between two batches.
    func attend(_ request: Request) {
        switch request {
        case .operation, .removal, .expiry: break
        case .page(let generation, let after, let limit, let answer):
            answerPage(generation, after, limit, answer)
        case .rotation(let answer): beginRotation(answer)
        case .compaction(let answer): answer(compact())
        case .survey(let answer): answer(survey())
        }
    }

    /// A page of a broadcast: a short read between two commits, so that it never holds back the
    /// log.
    private func answerPage(
        _ generation: Generation, _ after: [UInt8], _ limit: Int, _ answer: (RawPage?) -> Void
    ) {
        let table = table(generation)
        do throws(SQLiteError) {
            let rows = try table.rows(after: after, limit: min(limit, Limits.pageRows))
            answer(RawPage(rows: rows, keys: table.keys))
        } catch {
            answer(nil)
        }
    }
}

extension Batch {
    /// One statement run; whether it erased a row.
    fileprivate mutating func note(_ erased: Bool) {
        report.statements += 1
        if erased { report.erased += 1 }
    }
}
