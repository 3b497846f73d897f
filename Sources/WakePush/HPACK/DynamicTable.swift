/// The fields a sender asked us to remember (RFC 7541 §2.3.2): newest first, evicted oldest first.
struct DynamicTable: Sendable {
    private struct Entry {
        var start: Int
        var nameCount: Int
        var valueCount: Int

        // RFC 7541 §4.1
        var size: Int { nameCount + valueCount + 32 }
    }

    private(set) var size = 0
    private(set) var capacity: Int
    /// Names and values one after the other; those before `first` are dead.
    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    private var first = 0

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { entries.count - first }

    /// - Parameter index: 0 is the newest.
    /// - Returns: nil when there is none.
    func name(at index: Int) -> ArraySlice<UInt8>? {
        guard index >= 0, index < count else { return nil }
        let entry = entries[entries.count - 1 - index]
        return bytes[entry.start..<entry.start + entry.nameCount]
    }

    func value(at index: Int) -> ArraySlice<UInt8>? {
        guard index >= 0, index < count else { return nil }
        let entry = entries[entries.count - 1 - index]
        let start = entry.start + entry.nameCount
        return bytes[start..<start + entry.valueCount]
    }

    mutating func resize(to capacity: Int) {
        self.capacity = capacity
        evict(until: capacity)
    }

    mutating func insert(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        let entry = Entry(start: 0, nameCount: name.count, valueCount: value.count)
        guard entry.size <= capacity else {
            // RFC 7541 §4.4: an entry larger than the table empties it, and is no error.
            evict(until: 0)
            return
        }
        evict(until: capacity - entry.size)
        compact()
        var placed = entry
        placed.start = bytes.count
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
        entries.append(placed)
        size += placed.size
    }

    private mutating func evict(until limit: Int) {
        while size > limit {
            size -= entries[first].size
            first += 1
        }
        if first == entries.count {
            entries.removeAll(keepingCapacity: true)
            bytes.removeAll(keepingCapacity: true)
            first = 0
        }
    }

    /// Drops dead entries once they are as many as a full table can hold.
    private mutating func compact() {
        guard first >= 128 else { return }
        let dead = entries[first].start
        bytes.removeFirst(dead)
        entries.removeFirst(first)
        first = 0
        for index in entries.indices { entries[index].start -= dead }
    }
}
