import WakeModel

/// The operations of one transaction and what becomes of them. Nothing is answered before
/// `deliver`.
struct Batch {
    let operations: [Request]
    /// In the order of `operations`.
    private(set) var answers: [StoreAnswer] = []
    let hasDeletes: Bool
    let writes: Bool
    /// False when the disk is full: then only deletes and reads are performed.
    var mayGrow = true
    var report = BatchReport()

    init(_ requests: [Request]) {
        operations = requests.filter(\.isOperation)
        hasDeletes = operations.contains {
            switch $0 {
            case .operation(.delete, _), .removal, .expiry: true
            default: false
            }
        }
        writes = operations.contains {
            if case .operation(.read, _) = $0 { false } else { true }
        }
    }

    /// Few requests come now: how long one takes could tell what it found.
    var isCalm = true

    /// Whether the log must be empty before anything is answered: it may hold bytes that somebody
    /// is told are gone, or leaving it would tell that it does not.
    var mustTruncate: Bool { hasDeletes || report.erased > 0 || isCalm }

    /// Pages that the log may need for all of it.
    var pages: Int {
        operations.reduce(0) { pages, request in
            // Neighbours share their pages, at least two a page.
            if case .expiry(let rows) = request { return pages + rows / 2 + Limits.pagesPerInsert }
            return pages + Limits.pagesPerInsert
        }
    }

    /// Forgets an attempt that failed.
    mutating func restart() {
        answers.removeAll(keepingCapacity: true)
        report = BatchReport()
        report.operations = operations.count
    }

    mutating func append(_ answer: StoreAnswer) {
        answers.append(answer)
    }

    /// The batch of one operation of this batch.
    func alone(_ index: Int) -> Batch {
        var single = Batch([operations[index]])
        single.mayGrow = mayGrow
        single.isCalm = isCalm
        return single
    }

    /// Takes over the answer of a batch of one, in order.
    mutating func take(_ single: Batch, at index: Int) {
        if index == 0 { restart() }
        answers += single.answers
        report.add(single.report)
    }

    /// Every answer becomes `unavailable`.
    mutating func fail() {
        answers = Array(repeating: .unavailable, count: operations.count)
    }

    func deliver() {
        for (request, answer) in zip(operations, answers) { request.answer(answer) }
    }
}

extension BatchReport {
    fileprivate mutating func add(_ other: BatchReport) {
        registers += other.registers
        deletes += other.deletes
        statements += other.statements
        erased += other.erased
        pages += other.pages
        truncated = truncated || other.truncated
    }
}
