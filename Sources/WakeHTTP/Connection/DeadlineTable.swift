/// One deadline per slot, found by a pass over all: some microseconds for ten thousand.
package struct DeadlineTable: Sendable {
    package static let never = UInt64.max

    private var deadlines: [UInt64] = []
    /// Nothing expires before this.
    package private(set) var next = never
    /// Nanoseconds between two passes at least: deadlines are met this much late at most.
    package let grain: UInt64

    package init(grain: UInt64) { self.grain = grain }

    package mutating func set(_ slot: Int, to deadline: UInt64) {
        while deadlines.count <= slot { deadlines.append(DeadlineTable.never) }
        deadlines[slot] = deadline
        if deadline < next { next = deadline }
    }

    package mutating func clear(_ slot: Int) {
        if slot < deadlines.count { deadlines[slot] = DeadlineTable.never }
    }

    /// The slots whose deadline is not after `now`; their deadlines are cleared.
    package mutating func expired(at now: UInt64) -> [Int] {
        guard now >= next else { return [] }
        var found: [Int] = []
        var earliest = DeadlineTable.never
        for slot in deadlines.indices {
            let deadline = deadlines[slot]
            if deadline <= now {
                found.append(slot)
                deadlines[slot] = DeadlineTable.never
            } else if deadline < earliest {
                earliest = deadline
            }
        }
        next = earliest == DeadlineTable.never ? earliest : max(earliest, now + grain)
        return found
    }

    /// Milliseconds to wait from `now`, rounded up; -1 when nothing is due.
    package func wait(from now: UInt64) -> Int32 {
        guard next != DeadlineTable.never else { return -1 }
        guard next > now else { return 0 }
        return Int32(min((next - now + 999_999) / 1_000_000, 60_000))
    }
}
