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

    var report = BatchReport()

    init(_ messages: [WriterMessage]) {
        operations = messages.filter(\.isOperation)
        hasDeletes = operations.contains {
            switch $0 {
            case .operation(.delete, _), .removal: true
            default: false
            }
        }
        writeCount = operations.count { if case .operation(.read, _) = $0 { false } else { true } }
    }

    /// Upper bound of the pages that the log needs for all operations.
    var pages: Int { operations.count * Limits.pagesPerInsert }

    /// Forgets an attempt that failed.
    mutating func restart() {
        answers.removeAll(keepingCapacity: true)
        report = BatchReport()
        report.operations = operations.count
    }

    mutating func append(_ answer: StoreAnswer) { answers.append(answer) }

    mutating func count(erased: Bool) {
        report.statements += 1
        if erased { report.erased += 1 }
    }

    func single(_ index: Int) -> Batch {
        var single = Batch([operations[index]])
        single.room = room
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
        report.moved += single.report.moved
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
