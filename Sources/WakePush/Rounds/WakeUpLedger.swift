/// The wake-ups of one gateway in one round that are not settled: which wait, which are with the
/// engine, which are tried again and when.
struct WakeUpLedger {
    struct Entry: Sendable {
        let wakeUp: WakeUp
        /// What the attempts so far have cost, see ``RetryPolicy``.
        var spent = 0
    }

    /// Wake-ups that were handed to the engine as one batch.
    private struct Flight {
        var entries: [Entry]
        var left: Int
    }

    private var ready: [Entry] = []
    private var nextReady = 0
    /// By the tenth of a second in which they are due.
    private var delayed: [UInt64: [Entry]] = [:]
    private var flights: [UInt32: Flight] = [:]
    private var lastBatch: UInt32 = 0
    /// With the engine.
    private(set) var inFlight = 0
    /// Waiting for a time.
    private(set) var delayedCount = 0

    private static let tick: UInt64 = 100

    var readyCount: Int { ready.count - nextReady }
    /// What is ready, in the order in which it goes.
    var readyEntries: ArraySlice<Entry> { ready[nextReady...] }
    var isEmpty: Bool { readyCount == 0 && delayedCount == 0 && inFlight == 0 }

    mutating func add(_ wakeUps: [WakeUp]) {
        for wakeUp in wakeUps { ready.append(Entry(wakeUp: wakeUp)) }
    }

    /// Tries a wake-up again after `milliseconds`.
    mutating func add(_ entry: Entry, after milliseconds: UInt64, now: UInt64) {
        if milliseconds == 0 {
            ready.append(entry)
        } else {
            let due = (now + milliseconds + Self.tick - 1) / Self.tick
            delayed[due, default: []].append(entry)
            delayedCount += 1
        }
    }

    /// Makes ready what is due.
    mutating func advance(now: UInt64) {
        guard delayedCount > 0 else { return }
        for due in delayed.keys.filter({ $0 <= now / Self.tick }).sorted() {
            guard let entries = delayed.removeValue(forKey: due) else { continue }
            delayedCount -= entries.count
            ready.append(contentsOf: entries)
        }
    }

    /// The next batch for the engine: its number, and what is in it.
    /// - Parameter count: at least 1, at most `readyCount`.
    mutating func launch(_ count: Int) -> (batch: UInt32, entries: ArraySlice<Entry>) {
        let entries = ready[nextReady..<nextReady + count]
        nextReady += count
        if nextReady == ready.count {
            ready.removeAll(keepingCapacity: true)
            nextReady = 0
        } else if nextReady >= 4096 {
            ready.removeFirst(nextReady)
            nextReady = 0
        }
        lastBatch &+= 1
        flights[lastBatch] = Flight(entries: Array(entries), left: count)
        inFlight += count
        return (lastBatch, entries)
    }

    /// A wake-up comes back from the engine.
    mutating func land(_ batch: UInt32, _ order: UInt32) -> Entry {
        guard let entry = flights[batch]?.entries[Int(order)] else {
            preconditionFailure("an outcome for a batch that is not in flight")
        }
        inFlight -= 1
        flights[batch]?.left -= 1
        if flights[batch]?.left == 0 { flights[batch] = nil }
        return entry
    }
}
