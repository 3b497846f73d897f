import WakeModel
import WakeStore

/// The registrations whose wake-ups are with a gateway, each in a slot of its own until its
/// delivery is settled.
struct UnsettledRows {
    struct Row {
        let row: StoreRow
        let generation: Generation
        /// The gateway's place.
        let gateway: Int
        /// Of the walk, see ``RoundJournal``.
        let stretch: Int
    }

    private var slots: [Row?] = []
    private var free: [Int] = []
    let capacity: Int

    init(capacity: Int) {
        precondition(capacity > 0)
        self.capacity = capacity
    }

    var count: Int { slots.count - free.count }
    var isFull: Bool { count >= capacity }

    /// - Returns: the slot: the reference of the wake-up.
    mutating func insert(_ row: Row) -> Int {
        if let slot = free.popLast() {
            slots[slot] = row
            return slot
        }
        slots.append(row)
        return slots.count - 1
    }

    /// Takes a registration out; each slot once.
    mutating func remove(_ slot: Int) -> Row {
        guard let row = slots[slot] else {
            preconditionFailure("a wake-up was settled twice")
        }
        slots[slot] = nil
        free.append(slot)
        return row
    }

    /// Takes out everything that waits for a gateway.
    mutating func removeAll(of gateway: Int) -> [Row] {
        slots.indices.filter { slots[$0]?.gateway == gateway }.map { remove($0) }
    }
}
