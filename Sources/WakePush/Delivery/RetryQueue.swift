import WakeSystem

/// Wake-ups that are ready to be sent, and those that wait after a failed attempt.
package struct RetryQueue: Sendable {
    package struct Entry: Sendable {
        package let wakeUp: WakeUp
        /// The cost of the attempts so far, see ``RetryPolicy``.
        private var spent = 0
        /// Milliseconds; set by the first attempt that failed.
        private var deadline: UInt64?
        package private(set) var mayHaveArrived = false
        /// It goes in the other form, see ``EngineService/blamesForm(_:)``.
        package var isInOtherForm = false

        package init(wakeUp: WakeUp) { self.wakeUp = wakeUp }

        fileprivate var isTried: Bool { deadline != nil }

        package func result(_ delivery: Delivery) -> WakeUpResult {
            WakeUpResult(
                reference: wakeUp.reference, delivery: delivery,
                isRepeated: mayHaveArrived && wakeUp.mayRepeat)
        }

        /// Records an attempt that may have arrived; false where it must not be sent again.
        package mutating func lose() -> Bool {
            defer { mayHaveArrived = true }
            return !mayHaveArrived && wakeUp.mayRepeat
        }

        /// Counts a failed attempt.
        /// - Parameters:
        ///   - retryAfter: seconds the push service asked to wait, or 0.
        ///   - cost: of an attempt that costs more than others.
        /// - Returns: milliseconds until the next attempt; nil to give up for the round.
        package mutating func fail(
            _ failure: AttemptFailure, retryAfter: Int = 0, cost: Int? = nil,
            at moment: DeliveryMoment
        ) -> UInt64? {
            let deadline = deadline ?? moment.now + RetryPolicy.patience
            self.deadline = deadline
            spent += cost ?? RetryPolicy.cost(of: failure)
            let isLast = failure == .unknown && !lose()
            guard spent < RetryPolicy.budget, !isLast else { return nil }
            let wait = RetryPolicy.wait(
                after: failure, spent: spent, retryAfter: retryAfter, jitter: moment.jitter)
            return moment.now + wait <= deadline ? wait : nil
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
        ready.reserveIfEmpty(wakeUps.count)
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

    /// Takes out what was not tried yet, but for a number of ready entries.
    package mutating func removeUntried(but count: Int) -> [Entry] {
        guard ready.count > count else { return [] }
        var removed: [Entry] = []
        var kept = Deque<Entry>()
        while let entry = ready.popFirst() {
            if kept.count < count || entry.isTried {
                kept.append(entry)
            } else {
                removed.append(entry)
            }
        }
        ready = kept
        return removed
    }

    /// A ready entry; 0 is the next.
    package func readyEntry(_ position: Int) -> Entry { ready[position] }
    package mutating func popFirst() -> Entry? { ready.popFirst() }

    package mutating func removeAll() -> [Entry] {
        defer { self = RetryQueue() }
        return ready.contents + delayed.values.joined()
    }
}

/// The way in which an attempt failed.
package enum AttemptFailure: Sendable {
    /// The push service refused it and lives: an answer, or a refused stream.
    case refused
    /// The push service has not seen it, and the connection is gone: the engine itself waits before
    /// it connects again.
    case unsent
    /// The wake-up may have arrived: a device must not feel more than one repetition in a round.
    case unknown
}

/// The wait of a wake-up before the next attempt, and the end of its attempts in a round.
package enum RetryPolicy {
    /// The cost at which a wake-up is given up.
    package static let budget = 100
    /// Milliseconds from the first failed attempt to the last one.
    package static let patience: UInt64 = 240_000
    /// Milliseconds; each attempt doubles the wait.
    private static let first = 500.0
    private static let longest = 30_000.0
    /// Seconds a push service may ask to wait; more is left to the next round.
    package static let longestRetryAfter = Int(patience / 1000)

    static func cost(of failure: AttemptFailure) -> Int { failure == .unsent ? 1 : 10 }

    /// Milliseconds.
    /// - Parameter spent: the cost so far, this attempt included.
    static func wait(
        after failure: AttemptFailure, spent: Int, retryAfter: Int, jitter: Double
    ) -> UInt64 {
        guard failure != .unsent else { return 0 }
        var wait = first
        for _ in 1..<max(1, spent / cost(of: failure)) { wait = min(longest, wait * 2) }
        return UInt64(max(wait, Double(retryAfter) * 1000) * (1 + jitter / 2))
    }
}
