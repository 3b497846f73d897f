import WakeModel
import WakePush
import WakeStore

/// The last stages of a gateway's run: registrations whose push tokens are gone or invalid pass a
/// deletion breaker and are deleted in batches, unless they were renewed since they were read.
/// There is one breaker for each of the two: strangers, who may register tokens that are none,
/// cannot keep the other one tripped, and a wrong topic does not empty the store.
struct GoneRegistrations {
    private let store: Store
    private var goneBreaker: DeletionBreaker<InFlightEntry>
    private var invalidBreaker: DeletionBreaker<InFlightEntry>
    private var released: [InFlightEntry] = []

    /// Push tokens may be invalid as often as this for one that may be gone: an alarm shall not be
    /// for strangers to raise cheaply.
    private static let invalidFactor = 4
    /// Registrations deleted at once: each such commit is flushed, which other requests feel.
    private static let batch = 256

    /// - Parameters:
    ///   - isTripped: whether the breaker tripped before a restart.
    ///   - isBelieved: whether the push service has said the same in run after run.
    init(_ store: Store, perMille: Int, isTripped: Bool, isBelieved: Bool) {
        self.store = store
        let gone = isBelieved ? 1000 : perMille
        goneBreaker = DeletionBreaker(perMille: gone, isTripped: isTripped)
        invalidBreaker = DeletionBreaker(
            perMille: min(1000, Self.invalidFactor * gone), isTripped: isTripped)
    }

    var isTripped: Bool { goneBreaker.isTripped || invalidBreaker.isTripped }

    mutating func add(_ delivery: Delivery, of entry: InFlightEntry) {
        switch delivery {
        case .accepted:
            goneBreaker.accepted()
            invalidBreaker.accepted()
        case .gone: released += goneBreaker.gone(entry)
        case .invalid: released += invalidBreaker.gone(entry)
        case .retry: break
        }
    }

    mutating func finish() { released += goneBreaker.finish() + invalidBreaker.finish() }

    /// Deletes what is released, when it is a batch or the last, and returns how many.
    mutating func delete(isLast: Bool) async -> Int {
        guard released.count >= (isLast ? 1 : Self.batch) else { return 0 }
        let rows = released.map { (row: $0.row, generation: $0.generation) }
        released = []
        await store.removeIfUnchanged(rows)
        return rows.count
    }
}

/// A circuit breaker for deletions: keeps a push service that wrongly says that devices are gone
/// from emptying the store. One for each push service and run: one that gives 4 % of the answers
/// could say "gone" to everything and hide behind another.
///
/// Answers are counted in windows of 1,000 that follow one another. As soon as one holds more than
/// 5 % "gone" the breaker trips: nothing more is released in this run, but at its end the 50 that a
/// window may hold, if at least as many pushes were accepted as gone since it tripped, and since
/// that window began. The items of a window are released when the next has closed, too; at the end
/// of the run, when the last full window and what follows it are together within the share.
///
/// Guarantees, shown by the tests:
/// - A service that says "gone" to everything costs no row at all, however many it has.
/// - A service that starts to do so in the midst of a run costs no row either when 1,000 or more
///   answers follow, and at most 50 when the run ends before that.
/// - A service with at most 5 % "gone" in every window has all of them deleted.
/// - A service with more, up to a half, has 50 or more deleted in every run of 1,000 answers.
///
/// In a run with fewer answers than a window as many "gone" as a window may hold are fine, if at
/// least as many were accepted. Fewer than 20 answers are never an alarm. Windows do not slide, so
/// that 3 % "gone" rarely trip; tripping wrongly is harmless: a later run deletes the rest, see
/// ``TrippedRuns``.
struct DeletionBreaker<Item> {
    /// Answers in a window.
    private var window: Int { 1000 }
    private let perMille: Int
    /// Whether more than the share of the answers said "gone".
    private(set) var isTripped: Bool
    /// Once tripped: answers since, and the items that may be released all the same.
    private var tripped = Window()

    /// Answers, those of them that said "gone", and what waits for the window after it.
    private struct Window {
        var answers = 0
        var gone = 0
        var items: [Item] = []
    }
    private var open = Window()
    private var closed = Window()
    private var released: [Item] = []

    /// - Parameter perMille: 0 to 1,000; with 1,000 the breaker never trips.
    init(perMille: Int = 50, isTripped: Bool = false) {
        precondition((0...1000).contains(perMille))
        self.perMille = perMille
        self.isTripped = isTripped
    }

    /// Counts an accepted wake-up. What this releases comes with the next `gone` or `finish`.
    mutating func accepted() {
        guard !isTripped else { return tripped.answers += 1 }
        open.answers += 1
        closeWhenFull()
    }

    /// Counts a "gone". Answers of other kinds are not counted.
    /// - Returns: what may be deleted now; rarely `item` itself.
    mutating func gone(_ item: Item) -> [Item] {
        guard !isTripped else {
            tripped.answers += 1
            tripped.gone += 1
            if tripped.items.count < most { tripped.items.append(item) }
            return []
        }
        open.answers += 1
        open.gone += 1
        open.items.append(item)
        // No need to wait for the end of a window that is lost already.
        if isWithin(open.gone, of: window) { closeWhenFull() } else { trip() }
        return takeReleased()
    }

    /// Ends the run and returns what may be deleted of the rest; the breaker trips over the share.
    mutating func finish() -> [Item] {
        guard !isTripped else { return finishTripped() }
        let gone = closed.gone + open.gone
        let all = closed.answers + open.answers
        let areFew = closed.answers == 0 && isWithin(gone, of: window) && gone * 2 <= all
        if gone == 0 || isWithin(gone, of: all) || areFew {
            released += closed.items + open.items
            (open.items, closed.items) = ([], [])
            return takeReleased()
        }
        // Fewer prove nothing.
        guard all >= 20 else { return takeReleased() }
        trip()
        (tripped.answers, tripped.gone) = (open.answers, open.gone)
        return finishTripped()
    }

    private mutating func finishTripped() -> [Item] {
        let all = (answers: open.answers + tripped.answers, gone: open.gone + tripped.gone)
        if tripped.answers > 0, tripped.gone * 2 <= tripped.answers, all.gone * 2 <= all.answers {
            released += tripped.items
        }
        tripped = Window()
        return takeReleased()
    }

    private mutating func closeWhenFull() {
        guard open.answers == window else { return }
        released += closed.items
        closed = open
        open = Window()
    }

    private mutating func trip() {
        isTripped = true
        tripped.items = Array((closed.items + open.items).prefix(most))
        (open.items, closed.items) = ([], [])
    }

    /// Items that a window may hold.
    private var most: Int { window * perMille / 1000 }

    private mutating func takeReleased() -> [Item] {
        defer { released = [] }
        return released
    }

    private func isWithin(_ gone: Int, of answers: Int) -> Bool {
        gone * 1000 <= perMille * answers
    }
}

/// The runs in a row in which the deletion breaker of a push service tripped although the service
/// accepted others. After two of them it is believed in the third: hours lie between, in which a
/// fault would have been seen, and strangers who register push tokens that their service calls gone
/// cannot keep the breaker tripped. Lost with a restart.
struct TrippedRuns {
    private var counts: [PushService: Int] = [:]

    private static let limit = 2

    var believed: Set<PushService> { Set(counts.filter { $0.value >= Self.limit }.keys) }

    /// Records a complete run.
    /// - Parameter accepting: push services that accepted anything in it.
    mutating func record(tripped: Set<PushService>, accepting: ServiceSet) {
        for service in PushService.allCases {
            switch (tripped.contains(service), accepting.contains(ServiceSet(service))) {
            case (true, true): counts[service, default: 0] += 1
            // It had no registrations in the run.
            case (false, false): break
            // One that accepts nobody is not believed for that.
            case (true, false), (false, true): counts[service] = nil
            }
        }
    }
}
