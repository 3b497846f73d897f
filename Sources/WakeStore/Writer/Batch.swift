import WakeModel

/// The operations of one transaction and their answers. Nothing is answered before `deliver`.
struct Batch {
    let operations: [WriterMessage]
    /// In the order of `operations`.
    private(set) var answers: [StoreAnswer] = []
    let hasDeletes: Bool
    let writes: Bool
    /// False when the disk is full: then only deletes and reads are performed.
    var mayGrow = true
    /// Load is low: the duration of a single request could reveal what it found.
    var isCalm = true
    var report = BatchReport()

    init(_ messages: [WriterMessage]) {
        operations = messages.filter(\.isOperation)
        hasDeletes = operations.contains {
            switch $0 {
            case .operation(.delete, _), .removal, .expiry: true
            default: false
            }
        }
        writes = operations.contains { if case .operation(.read, _) = $0 { false } else { true } }
    }

    /// Whether the log must be empty before the answers: it may hold bytes that a caller is told
    /// are gone, or leaving it would reveal that it does not.
    var mustTruncate: Bool { hasDeletes || report.erased > 0 || isCalm }

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
        single.mayGrow = mayGrow
        single.isCalm = isCalm
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
    func deliver() { for (message, answer) in zip(operations, answers) { message.answer(answer) } }
}
