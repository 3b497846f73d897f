import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// The rows of one gateway on their way from the scan to the session, and back with their outcomes:
/// every distinct push token (``TokenDeduplicator``) leaves at the planned pace (``RunPace``),
/// while there is room. Nothing here waits, and many rows go with one look at this value: one
/// suspension for each row would cost more than the row.
struct RowLane {
    enum Step {
        /// Every row of the page was handled.
        case end
        /// A batch is full.
        case batch
        /// The next row waits for room, or for the pace.
        case room, pace
    }

    /// The rows of a page that are left.
    struct Page {
        fileprivate let places: Range<UInt64>
        fileprivate let rows: [StoreRow]
        fileprivate let hashes: [UInt64]
        fileprivate let generation: Generation
        /// Whether the rows are read once more, as their wake-ups had no outcome.
        let isAgain: Bool
        fileprivate var next = 0

        /// The place after it.
        var end: UInt64 { places.upperBound }
    }

    private let order: ScanOrder
    private let gateway: (any Gateway)?
    /// Push services without a gateway whose rows are counted here.
    private let unserved: ServiceSet
    private let isHeartbeat: Bool
    private let recent: RecentPushes
    private let capacity: Int
    private let start = UptimeInstant.now
    private var pace: RunPace
    private var deduplicator = TokenDeduplicator()
    private var isSized = false
    private var entries = SlotMap<InFlightEntry>()
    private var pending = PendingPlaces()
    /// What is to leave.
    private(set) var batch: [WakeUp] = []
    var position: RunPosition
    /// Counts that are not in the position's, since this process took it up.
    private(set) var report = BroadcastReport()
    /// Push tokens that may have had two pushes in this run.
    private(set) var repeated: TokenDeduplicator

    /// Wake-ups handed to a gateway at once; reports are read after each batch.
    private static let batchSize = 256
    /// Rows of a page that say how many of all are the gateway's.
    private static let sample = 64

    /// - Parameters:
    ///   - capacity: wake-ups in flight at most.
    ///   - recent: pushes of earlier runs.
    init(
        _ gateway: (any Gateway)?, unserved: ServiceSet, order: ScanOrder,
        position: RunPosition, isHeartbeat: Bool, recent: RecentPushes, capacity: Int,
        pace: RunPace
    ) {
        self.gateway = gateway
        self.unserved = unserved
        self.order = order
        self.position = position
        self.isHeartbeat = isHeartbeat
        self.recent = recent
        self.capacity = capacity
        self.pace = pace
        self.position.counters.deferred = UInt64(position.noted.count)
        repeated = TokenDeduplicator(sharingKeyOf: deduplicator)
    }

    private var service: PushService? { gateway?.wakesTokens == true ? gateway?.service : nil }
    var inFlight: Int { entries.count }

    /// - Parameter estimate: of all rows of the store.
    mutating func page(_ page: ScanPage, isAgain: Bool, of estimate: Int) -> Page {
        if !isSized, page.rows.count >= Self.sample, deduplicator.count == 0 {
            isSized = true
            let own = page.rows.count { $0.token.service == service }
            deduplicator = TokenDeduplicator(
                sharingKeyOf: deduplicator, expecting: estimate * own / page.rows.count)
        }
        return Page(
            places: page.places, rows: page.rows,
            hashes: deduplicator.hashes(of: page.rows, for: service), generation: page.generation,
            isAgain: isAgain)
    }

    /// Handles rows of a page until something has to be waited for.
    mutating func advance(_ page: inout Page) -> Step {
        let (rows, hashes) = (page.rows, page.hashes)
        while page.next < rows.count {
            let hash = hashes[page.next]
            guard hash != 0 || !unserved.isEmpty else {
                pace.spend()
                page.next += 1
                continue
            }
            let row = rows.span[page.next]
            let place = order.place(of: row.identity.idPrefix, in: page.generation)
            let isCounted = page.isAgain || place >= position.counted
            if hash == 0 {
                pace.spend()
                if isCounted, unserved.contains(ServiceSet(row.token.service)) {
                    skip(\.unserved)
                }
            } else if let step = take(row, hash, place, page.generation, isCounted, page.isAgain) {
                if step == .batch { page.next += 1 }
                return step
            }
            page.next += 1
        }
        return .end
    }

    private mutating func skip(_ counter: WritableKeyPath<RunCounters, UInt64>) {
        pending.skip()
        position.counters.rows += 1
        position.counters[keyPath: counter] += 1
    }

    /// - Returns: nil when the next row may follow at once.
    private mutating func take(
        _ row: StoreRow, _ hash: UInt64, _ place: UInt64, _ generation: Generation,
        _ isCounted: Bool, _ isAgain: Bool
    ) -> Step? {
        if isHeartbeat, gateway?.takesHeartbeats(row.token) == false {
            pace.spend()
            if isCounted {
                report.hosts.skip(row.token)
                skip(\.unserved)
            }
            return nil
        }
        if recent.areEnough(for: row.token) {
            pace.spend()
            if isCounted {
                report.causes[.hourlyLimit, default: 0] += 1
                skip(\.abandoned)
            }
            return nil
        }
        guard entries.count < capacity else { return .room }
        guard isDue else { return .pace }
        pace.spend()
        guard deduplicator.insert(hash: hash) else {
            // One that is read again has been woken, as a rule.
            if isCounted, !isAgain { skip(\.duplicates) }
            return nil
        }
        let entry = InFlightEntry(
            row: row.identity, host: PushHostKind(row.token), hash: hash, generation: generation,
            place: place, number: pending.append(place), isCounted: isCounted)
        batch.append(
            WakeUp(
                reference: entries.insert { _ in entry }.slot, token: row.token,
                mayRepeat: recent.allowsRepetition(to: row.token)))
        return batch.count >= Self.batchSize ? .batch : nil
    }

    private var isDue: Bool {
        mutating get {
            let start = start
            return pace.allows(now: (UptimeInstant.now - start).wholeNanoseconds)
        }
    }

    mutating func takeBatch() -> [WakeUp] {
        defer { batch.removeAll(keepingCapacity: true) }
        return batch
    }

    /// Counts results.
    mutating func complete(
        _ results: [WakeUpResult], _ body: (Delivery, InFlightEntry) -> Void
    ) {
        for result in results {
            let entry = remove(result.reference)
            if result.isRepeated { _ = repeated.insert(hash: entry.hash) }
            count(result.delivery, entry)
            body(result.delivery, entry)
        }
    }

    private mutating func count(_ delivery: Delivery, _ entry: InFlightEntry) {
        guard entry.isCounted else { return }
        position.counters.rows += 1
        if let host = entry.host { report.hosts.add(delivery, host) }
        switch delivery {
        case .accepted: position.counters.accepted += 1
        case .retry(let cause):
            position.counters.abandoned += 1
            report.causes[cause, default: 0] += 1
        case .gone, .invalid: position.counters.gone += 1
        }
    }

    private mutating func remove(_ reference: Int) -> InFlightEntry {
        guard let key = entries.key(inSlot: reference), let entry = entries.remove(key) else {
            preconditionFailure("a wake-up was completed twice")
        }
        pending.complete(entry.number)
        return entry
    }

    /// The place of the next row of a page, or of what follows it.
    private func place(in page: Page) -> UInt64 {
        guard page.next < page.rows.count else { return page.places.upperBound }
        return order.place(of: page.rows.span[page.next].identity.idPrefix, in: page.generation)
    }

    /// Notes wake-ups that the session gave back for another lap.
    mutating func giveBack(_ references: [Int]) {
        for reference in references {
            let entry = remove(reference)
            deduplicator.remove(hash: entry.hash)
            position.noted.append(entry.place)
            position.counters.deferred += 1
        }
    }

    /// Goes back to the wake-ups without an outcome: their session has ended.
    /// - Parameter page: of which the rest was not handled.
    mutating func goBack(from page: Page?) {
        if let page, !page.isAgain { position.next = place(in: page) }
        let places = pending.left
        for key in entries.keys {
            guard let entry = entries.remove(key) else { continue }
            deduplicator.remove(hash: entry.hash)
        }
        pending = PendingPlaces()
        batch = []
        position.readAgain(places)
    }

    /// Gives up what is in flight, in favour of another broadcast.
    mutating func abandon(_ cause: RetryCause) {
        for key in entries.keys {
            guard let entry = entries.remove(key) else { continue }
            count(.retry(cause), entry)
        }
        pending = PendingPlaces()
    }

    /// The gateway's rows of a page that have had no wake-up, and those of no gateway that were
    /// not counted.
    func countLeft(_ page: Page) -> (own: Int, unserved: Int) {
        let own = page.hashes.count { $0 != 0 && !deduplicator.contains(hash: $0) }
        guard !unserved.isEmpty, !page.isAgain, page.end > position.counted else { return (own, 0) }
        return (own, page.rows.count { unserved.contains(ServiceSet($0.token.service)) })
    }

    /// The position as it is saved.
    /// - Parameter page: the one in hand.
    func savedPosition(_ page: Page?) -> RunPosition.Numbers {
        // What is read once more comes before the rest: all of it is named.
        guard position.again.isEmpty else {
            return position.numbers(at: position.next, pending: pending.left)
        }
        let (holes, next) = pending.holes
        return position.numbers(
            at: next ?? page.map(place(in:)) ?? position.next, pending: holes)
    }
}

/// A registration whose wake-up is with a gateway, by the wake-up's reference. Without the push
/// token, which the gateway has.
struct InFlightEntry: Sendable {
    let row: RowIdentity
    /// Of an endpoint of Web Push.
    let host: PushHostKind?
    /// Of the push token, see ``TokenDeduplicator``.
    let hash: UInt64
    let generation: Generation
    let place: UInt64
    /// See ``PendingPlaces``.
    let number: Int
    /// Whether its row was not counted before.
    let isCounted: Bool
}
