import WakeModel
import WakeSystem

/// The statements of a batch, run in order inside the open transactions.
struct Transaction {
    let store: OpenGenerations

    private var current: GenerationTable { store.current.rows }
    private var previous: GenerationTable { store.previous.rows }

    func perform(_ batch: inout Batch) throws(SQLiteError) {
        // Far from the limit for new rows nothing needs counting.
        let needed = (batch.operations.count + 1) * Limits.pagesPerInsert
        let isRoomy = try store.roomyPages() >= needed
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
                let removed = try store.file(generation).rows.remove(unchanged: row)
                batch.count(erased: removed)
                if removed { batch.report.removed += 1 }
                batch.append(.done)
            case .page, .rotation, .survey, .room:
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
            guard batch.room == .moved, try store.isInPrevious(previousID) else { return .full }
        }
        // Only new rows are refused: those in either file are renewed and moved at all times.
        if !isRoomy, try store.roomyPages() < Limits.pagesPerInsert,
            try !current.contains(id), try !store.isInPrevious(previousID)
        {
            return .full
        }
        let sealed = current.keys.seal(address, id: id)
        let isMoved = try store.isInPrevious(previousID)
        guard let overwritten = try current.put(id, sealed, ifNew: { isMoved || ifNew() })
        else { return .notAdmitted }
        try current.addMoved(previousID)
        batch.count(erased: overwritten)
        batch.report.statements += 2
        batch.report.moved += 1
        return .done
    }

    /// The same statements whether there is a row, was one, or never was.
    private func delete(_ token: InstanceToken, _ batch: inout Batch) throws(SQLiteError) {
        let inCurrent = try current.remove(current.keys.id(of: token))
        let previousID = previous.keys.id(of: token)
        try current.removeMoved(previousID)
        let inPrevious = try previous.remove(previousID)
        for isErased in [inCurrent, inPrevious] { batch.count(erased: isErased) }
        batch.report.statements += 1
        if inCurrent || inPrevious { batch.report.removed += 1 }
    }

    private func read(_ token: InstanceToken) throws(SQLiteError) -> StoreAnswer {
        let inCurrent = try find(token, in: .current)
        let inPrevious = try find(token, in: .previous)
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
        _ token: InstanceToken, in generation: Generation
    ) throws(SQLiteError) -> LookUp {
        let rows = store.file(generation).rows
        let id = rows.keys.id(of: token)
        guard let sealed = try rows.sealed(id) else { return .absent }
        if generation == .previous, try !store.isInPrevious(id) { return .absent }
        guard let address = rows.keys.open(sealed.span, id: id.span) else { return .unreadable }
        return .found(
            StoredRegistration(generation: generation, id: id, sealed: sealed, token: address))
    }
}
