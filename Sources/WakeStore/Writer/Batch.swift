import WakeModel

/// The operations of one transaction and their answers. Nothing is answered before `deliver`.
struct Batch {
    let operations: [WriterMessage]
    /// In the order of `operations`.
    private(set) var answers: [StoreAnswer] = []
    /// Then the log is empty before the answers, whether anything was found or not.
    let hasDeletes: Bool
    let writeCount: Int
    var writes: Bool { writeCount > 0 }
    /// What a full disk leaves; deletes and reads are performed at all times.
    var room = Room.new

    /// Registrations that are performed, each with those before it.
    enum Room: Int {
        case none
        /// Those of the current generation, whose rows are overwritten.
        case renewed
        /// Those that are moved from the previous one.
        case moved
        case new
    }

    /// Whether changes are kept, for a copy of the rows.
    var keepsChanges = false
    private(set) var changes: [RowChange] = []
    var report = BatchReport()

    init(_ messages: [WriterMessage]) {
        operations = messages.filter(\.isOperation)
        hasDeletes = operations.contains {
            switch $0 {
            case .operation(.delete, _), .removal, .expiry: true
            default: false
            }
        }
        writeCount = operations.count { if case .operation(.read, _) = $0 { false } else { true } }
    }

    /// Upper bound of the pages that the log needs for all operations.
    var pages: Int {
        operations.reduce(0) { pages, message in
            // Neighbours share their pages, at least two a page.
            if case .expiry(let rows) = message { return pages + rows / 2 + Limits.pagesPerInsert }
            return pages + Limits.pagesPerInsert
        }
    }

    /// Forgets an attempt that failed.
    mutating func restart() {
        answers.removeAll(keepingCapacity: true)
        changes.removeAll()
        report = BatchReport()
        report.operations = operations.count
    }

    mutating func append(_ answer: StoreAnswer) { answers.append(answer) }

    mutating func count(erased: Bool) {
        report.statements += 1
        if erased { report.erased += 1 }
    }

    /// Noted whether it was there or not: a copy takes the same statements for both.
    /// - Parameter sealed: nil for a row that is gone.
    mutating func note(_ generation: Generation, _ id: [UInt8], sealed: [UInt8]? = nil) {
        guard keepsChanges else { return }
        changes.append(RowChange(generation: generation, id: id, sealed: sealed))
    }

    func single(_ index: Int) -> Batch {
        var single = Batch([operations[index]])
        (single.room, single.keepsChanges) = (room, keepsChanges)
        return single
    }

    /// Adopts the answer of a batch of one, in order.
    mutating func adopt(_ single: Batch, at index: Int) {
        if index == 0 { restart() }
        answers += single.answers
        report.registers += single.report.registers
        report.deletes += single.report.deletes
        report.statements += single.report.statements
        report.erased += single.report.erased
        if single.answers == [.done] { report.removed += single.report.removed }
        report.pages += single.report.pages
        report.truncated = report.truncated || single.report.truncated
    }

    mutating func fail() { answers = Array(repeating: .unavailable, count: operations.count) }

    /// Gives the answers; those of callers are to leave when their time has come.
    func deliver() -> [AnswerGrid.Release] {
        zip(operations, answers).compactMap { message, answer in
            if case .operation(_, let prepare) = message { return prepare(answer) }
            message.answer(answer)
            return nil
        }
    }
}

/// A row that a transaction has written, or that is not there after it.
struct RowChange {
    let generation: Generation
    let id: [UInt8]
    /// nil: the row is gone.
    let sealed: [UInt8]?
}
