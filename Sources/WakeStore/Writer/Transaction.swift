import WakeModel
import WakeSQLite
import WakeSystem

/// The statements of a batch, run in order inside the open transaction.
struct Transaction {
    let database: OpenDatabase

    private var current: GenerationTable { database.connection.current }
    private var previous: GenerationTable { database.connection.previous }

    func perform(_ batch: inout Batch) throws(SQLiteError) {
        // Far from the limit for new rows nothing needs counting.
        let needed = (batch.operations.count + 1) * Limits.pagesPerInsert
        let isRoomy = try database.roomyPages() >= needed
        for message in batch.operations {
            switch message {
            case .operation(.register(let token, let address, let ifNew), _):
                batch.report.registers += 1
                let answer = try register(token, address, isRoomy: isRoomy, ifNew, &batch)
                batch.append(answer)
            case .operation(.delete(let token), _):
                batch.report.deletes += 1
                try delete(token, &batch)
                batch.append(.done)
            case .operation(.read(let token), _):
                let stored = try read(token)
                batch.append(stored)
            case .removal(let generation, let row, _):
                batch.report.deletes += 1
                let removed = try database.connection.table(generation).remove(unchanged: row)
                batch.count(erased: removed)
                if removed {
                    batch.report.removed += 1
                    batch.note(generation, row.id)
                }
                batch.append(.done)
            case .expiry(let rows):
                let erased = try previous.removeFirst(rows)
                batch.report.erased += erased
                batch.report.statements += 1
                batch.append(.done)
            case .page, .rotation, .compaction, .survey, .room:
                preconditionFailure("done between batches")
            }
        }
    }

    /// The same statements for new, changed and repeated registrations, and for those moved over.
    private func register(
        _ token: InstanceToken, _ address: PushToken, isRoomy: Bool, _ ifNew: () -> Bool,
        _ batch: inout Batch
    ) throws(SQLiteError) -> StoreAnswer {
        guard batch.room != .none else { return .full }
        let id = current.keys.id(of: token)
        let previousID = previous.keys.id(of: token)
        if batch.room != .new, try !current.contains(id) {
            guard batch.room == .moved, try previous.contains(previousID) else { return .full }
        }
        // Only new rows are refused: those who are in either table renew and move at all times.
        if !isRoomy, try database.roomyPages() < Limits.pagesPerInsert,
            try !current.contains(id), try !previous.contains(previousID)
        {
            return .full
        }
        let sealed = current.keys.seal(address, id: id)
        let expiring = try previous.remove(previousID)
        batch.count(erased: expiring)
        batch.note(.previous, previousID)
        guard let overwritten = try current.put(id, sealed, ifNew: { expiring || ifNew() })
        else { return .notAdmitted }
        batch.note(.current, id, sealed: sealed)
        batch.count(erased: overwritten)
        batch.report.statements += 1
        return .done
    }

    /// The same statements whether there is a row, was one, or never was.
    private func delete(_ token: InstanceToken, _ batch: inout Batch) throws(SQLiteError) {
        let inCurrent = try remove(token, from: current, &batch)
        let inPrevious = try remove(token, from: previous, &batch)
        if inCurrent || inPrevious { batch.report.removed += 1 }
    }

    private func remove(
        _ token: InstanceToken, from table: GenerationTable, _ batch: inout Batch
    ) throws(SQLiteError) -> Bool {
        let id = table.keys.id(of: token)
        let removed = try table.remove(id)
        batch.count(erased: removed)
        batch.note(table.generation, id)
        return removed
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

    private enum LookUp {
        case absent
        case unreadable
        case found(StoredRegistration)
    }

    private func find(
        _ token: InstanceToken, in table: GenerationTable
    ) throws(SQLiteError) -> LookUp {
        let id = table.keys.id(of: token)
        guard let sealed = try table.sealed(id) else { return .absent }
        guard let address = table.keys.open(sealed.span, id: id.span) else { return .unreadable }
        return .found(
            StoredRegistration(
                generation: table.generation, id: id, sealed: sealed, token: address))
    }
}
