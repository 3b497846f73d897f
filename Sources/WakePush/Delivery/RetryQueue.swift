import WakeSystem

/// Wake-ups that are ready to be sent, and those that wait after a failed attempt.
package struct RetryQueue: Sendable {
    package struct Entry: Sendable {
        package let wakeUp: WakeUp
        /// The cost of the attempts so far, see ``RetryPolicy``.
        package var spent = 0
        /// The refusal of its form: it goes in the other one, see ``EngineService/otherForm(_:)``.
        package var refusal: Verdict?

        package init(wakeUp: WakeUp) { self.wakeUp = wakeUp }

        package func result(_ delivery: Delivery) -> WakeUpResult {
            WakeUpResult(reference: wakeUp.reference, delivery: delivery)
        }
    }

    private var ready = Deque<Entry>()
    /// By the tenth of a second in which they are due.
    private var delayed: [UInt64: [Entry]] = [:]
    package private(set) var delayedCount = 0

    private static let tick: UInt64 = 100

    package init() {}

    package var readyCount: Int { ready.count }
    package var isEmpty: Bool { ready.isEmpty && delayedCount == 0 }

    package mutating func append(_ entry: Entry) { ready.append(entry) }

    package mutating func append(_ wakeUps: [WakeUp]) {
        for wakeUp in wakeUps { ready.append(Entry(wakeUp: wakeUp)) }
    }

    /// Makes an entry ready `milliseconds` after `now`, or up to a tenth of a second later.
    package mutating func append(_ entry: Entry, after milliseconds: UInt64, now: UInt64) {
        guard milliseconds > 0 else { return ready.append(entry) }
        let due = (now + milliseconds + Self.tick - 1) / Self.tick
        delayed[due, default: []].append(entry)
        delayedCount += 1
    }

    package mutating func advance(now: UInt64) {
        guard delayedCount > 0 else { return }
        for due in delayed.keys.filter({ $0 <= now / Self.tick }).sorted() {
            guard let entries = delayed.removeValue(forKey: due) else { continue }
            delayedCount -= entries.count
            ready.append(contentsOf: entries)
        }
    }

    /// A ready entry; 0 is the next.
    package func readyEntry(_ position: Int) -> Entry { ready[position] }
    package mutating func popFirst() -> Entry? { ready.popFirst() }

    package mutating func removeAll() -> [Entry] {
        defer { self = RetryQueue() }
        return ready.contents + delayed.values.joined()
    }
}

/// The wait of a wake-up before the next attempt, and the end of its attempts in a round.
package enum RetryPolicy {
    /// The cost at which a wake-up is given up. Attempts that the push service has not seen cost
    /// little: the engine itself waits before it connects again.
    package static let budget = 100
    private static let attempt = 10
    private static let retrySafeAttempt = 1
    /// Milliseconds; each attempt doubles the wait.
    private static let first = 500.0
    private static let longest = 30_000.0
    /// Seconds a push service may ask to wait; more is left to the next round.
    package static let longestRetryAfter = 600

    package static func cost(isRetrySafe: Bool) -> Int { isRetrySafe ? retrySafeAttempt : attempt }

    /// Milliseconds; nil to give up for the round.
    /// - Parameters:
    ///   - spent: the cost so far, this attempt included.
    ///   - retryAfter: seconds the push service asked to wait, or 0.
    ///   - jitter: in [0, 1); stretches the wait by up to a half.
    package static func delay(
        spent: Int, isRetrySafe: Bool, retryAfter: Int, jitter: Double
    ) -> UInt64? {
        guard spent < budget, retryAfter <= longestRetryAfter else { return nil }
        if isRetrySafe { return 0 }
        var wait = first
        for _ in 1..<max(1, spent / attempt) { wait = min(longest, wait * 2) }
        return UInt64(max(wait, Double(retryAfter) * 1000) * (1 + jitter / 2))
    }
}
