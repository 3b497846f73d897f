/// The open connections by slot.
struct ConnectionTable {
    private var slots: [Connection?] = []
    private var generations: [UInt32] = []
    private var free: [Int] = []
    private(set) var count = 0

    subscript(id: ConnectionID) -> Connection? {
        guard id.slot < slots.count, generations[id.slot] == id.generation else { return nil }
        return slots[id.slot]
    }

    func connection(inSlot slot: Int) -> Connection? {
        slot < slots.count ? slots[slot] : nil
    }

    var all: [Connection] { slots.compactMap { $0 } }

    /// Makes a connection under a fresh name.
    mutating func insert(_ make: (ConnectionID) -> Connection) -> Connection {
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
        } else {
            slot = slots.count
            slots.append(nil)
            generations.append(0)
        }
        let connection = make(ConnectionID(slot: slot, generation: generations[slot]))
        slots[slot] = connection
        count += 1
        return connection
    }

    mutating func remove(_ id: ConnectionID) {
        guard self[id] != nil else { return }
        slots[id.slot] = nil
        generations[id.slot] = (generations[id.slot] &+ 1) & 0x7FFF_FFFF
        free.append(id.slot)
        count -= 1
    }
}
