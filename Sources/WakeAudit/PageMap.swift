/// Which pages have been reached: each must be, once.
struct PageMap {
    private var isReached: [Bool]
    private let lockPage: UInt32
    let pageCount: UInt32

    init(pageCount: UInt32, lockPage: UInt32) {
        self.pageCount = pageCount
        self.lockPage = lockPage
        isReached = [Bool](repeating: false, count: Int(pageCount) + 1)
        // There is no page 0.
        isReached[0] = true
    }

    /// Notes that something points to a page.
    /// - Returns: whether to go there: it exists, and nothing else has pointed to it.
    mutating func reach(_ number: UInt32, _ findings: inout AuditFindings) -> Bool {
        guard number > 0, number <= pageCount else {
            findings.note(.pageOutside)
            return false
        }
        guard number != lockPage else {
            findings.note(.lockPage)
            return false
        }
        guard !isReached[Int(number)] else {
            findings.note(.pageTwice)
            return false
        }
        isReached[Int(number)] = true
        return true
    }

    /// Pages nothing points to; the lock page is none of them.
    var unreachable: Int {
        isReached.indices.count { !isReached[$0] && UInt32($0) != lockPage }
    }
}
