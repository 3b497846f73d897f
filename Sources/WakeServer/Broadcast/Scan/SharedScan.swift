import Synchronization
import WakeModel
import WakeStore
import WakeSystem

/// The rows at neighbouring places.
struct ScanPage: Sendable {
    let places: Range<UInt64>
    let rows: [StoreRow]
    /// When it was read, see ``SharedScan/Clock``.
    fileprivate(set) var ended: UInt64 = 0

    var generation: Generation { ScanOrder.generation(at: places.lowerBound) }

    /// Without the rows before a place.
    fileprivate func rest(from place: UInt64, _ order: ScanOrder) -> ScanPage {
        let rows = rows.filter { order.place(of: $0.identity.idPrefix, in: generation) >= place }
        return ScanPage(places: place..<places.upperBound, rows: rows, ended: ended)
    }
}

/// The reading of a broadcast: hands out pages of opened rows by place, and keeps the last few.
/// Gateways in step read and decrypt a page once. A gateway that is far ahead of another waits for
/// it, but for ``patience`` a page at most: then the one that lags reads its pages again.
final class SharedScan: Sendable {
    private struct Reading {
        let places: Range<UInt64>
        let began: UInt64
        let page: Task<ScanPage?, Never>
    }

    private struct State {
        /// The oldest first.
        var readings: [Reading] = []
        /// The places between which each reader has its next pages.
        var readers: [PushService: Range<UInt64>] = [:]
        /// Counts beginnings and ends of readings.
        var clock: UInt64 = 0
        /// Rows and places that were read, by generation.
        var seen: [Generation: (rows: Int, places: UInt64)] = [:]
    }

    let order: ScanOrder
    private let store: Store
    private let memory = PageMemory()
    private let size: PageSize
    private let state = Mutex(State())

    /// Pages kept beyond those that are read ahead.
    private static let kept = 4
    /// Holds no gateway below 38,000 rows a second. Two gateways out of step cost a broadcast
    /// 2 us of CPU a row more (`Tests/Bench all --only broadcast-apns`).
    private static let patience = Duration.milliseconds(10)
    private static let step = Duration.microseconds(500)

    init(_ store: Store, _ order: ScanOrder, size: PageSize) {
        self.store = store
        self.order = order
        self.size = size
    }

    /// The page with a place; nil when the store cannot be read.
    /// - Parameters:
    ///   - ended: when the caller's last page of the previous generation was read: a page of
    ///     current that was read before would miss a row that moved in between.
    ///   - reader: the caller.
    func page(at place: UInt64, after ended: UInt64, for reader: PushService) async -> ScanPage? {
        var waited = Duration.zero
        while waited < Self.patience, state.withLock({ isFarAhead(reader, at: place, $0) }) {
            try? await Task.sleep(for: Self.step)
            waited += Self.step
        }
        let task = state.withLock { state in
            state.readers[reader] = place..<place
            let reading = reading(at: place, after: ended, &state)
            var next = reading.places.upperBound
            for _ in 0..<size.pagesAhead {
                // No page of current is read before all of previous is.
                guard next < ScanOrder.end, next != ScanOrder.currentStart else { break }
                state.readers[reader] = place..<next
                next = self.reading(at: next, after: ended, &state).places.upperBound
            }
            state.readers[reader] = place..<next
            return reading.page
        }
        let page = await task.value
        guard let page else {
            state.withLock { $0.readings = [] }
            return nil
        }
        return page.places.lowerBound == place ? page : page.rest(from: place, order)
    }

    /// Whether another reading drops the page that another reader needs next.
    private func isFarAhead(_ reader: PushService, at place: UInt64, _ state: State) -> Bool {
        guard state.readings.count >= most, let oldest = oldestUnneeded(state) else { return false }
        let places = state.readings[oldest].places
        return state.readers.contains {
            $0.key != reader && $0.value.upperBound < place && places.contains($0.value.upperBound)
        }
    }

    /// The oldest reading that is not among the next pages of a reader.
    private func oldestUnneeded(_ state: State) -> Int? {
        state.readings.firstIndex { reading in
            !state.readers.values.contains { $0.overlaps(reading.places) }
        }
    }

    /// Pages kept, unless more readers need theirs.
    private var most: Int { size.pagesAhead + 1 + Self.kept }

    /// Rows at places of one generation, apart from the pages; nil when the store cannot be read.
    /// - Parameter ranges: as many as are searched at once, at most.
    func page(at ranges: ArraySlice<Range<UInt64>>) async -> ScanPage? {
        guard let first = ranges.first, let last = ranges.last else { return nil }
        let generation = ScanOrder.generation(at: first.lowerBound)
        guard let rows = await read(ranges.flatMap(order.ids), of: generation) else { return nil }
        return ScanPage(
            places: first.lowerBound..<max(first.upperBound, last.upperBound), rows: rows,
            ended: state.withLock { tick(&$0) })
    }

    private func tick(_ state: inout State) -> UInt64 {
        state.clock += 1
        return state.clock
    }

    private func reading(at place: UInt64, after ended: UInt64, _ state: inout State) -> Reading {
        let isCurrent = ScanOrder.generation(at: place) == .current
        let known = state.readings.last {
            $0.places.contains(place) && (!isCurrent || $0.began > ended)
        }
        if let known { return known }
        let places = place..<place + width(at: place, state)
        let task = Task {
            let ranges = order.ids(at: places)
            guard let rows = await read(ranges, of: ScanOrder.generation(at: place)) else {
                return nil as ScanPage?
            }
            return self.state.withLock { state in
                let seen = state.seen[isCurrent ? .current : .previous] ?? (0, 0)
                state.seen[isCurrent ? .current : .previous] = (
                    seen.rows + rows.count, seen.places + UInt64(places.count)
                )
                return ScanPage(places: places, rows: rows, ended: tick(&state))
            }
        }
        let reading = Reading(places: places, began: tick(&state), page: task)
        if state.readings.count >= most, let oldest = oldestUnneeded(state) {
            state.readings.remove(at: oldest)
        }
        state.readings.append(reading)
        return reading
    }

    /// Places with about a page of rows: ids are uniform.
    private func width(at place: UInt64, _ state: State) -> UInt64 {
        let generation = ScanOrder.generation(at: place)
        let end = generation == .previous ? ScanOrder.currentStart : ScanOrder.end
        let seen = state.seen[generation] ?? (store.estimatedRows, ScanOrder.currentStart)
        let width = Double(size.rows) * Double(seen.places) / Double(max(1, seen.rows))
        return min(max(1, UInt64(min(width, 0x1p33))), order.widest, end - place)
    }

    private func read(_ ranges: [IDRange], of generation: Generation) async -> [StoreRow]? {
        var rows: [StoreRow] = []
        var left = ranges[...]
        while !left.isEmpty {
            guard
                let page = await store.page(
                    of: generation, in: Array(left), limit: size.limit, memory: memory)
            else { return nil }
            rows = rows.isEmpty ? page.rows : rows + page.rows
            left = left.dropFirst(page.ranges)
            if let last = page.last, let first = left.popFirst() {
                left = [IDRange(after: last, through: first.through)] + left
            }
        }
        return rows
    }
}

extension SharedScan {
    /// How many rows are read at once, and how many pages ahead.
    struct PageSize {
        /// The rows that a page is expected to have.
        let rows: Int
        /// The most that are read at once.
        let limit: Int
        let pagesAhead: Int

        init(rows: Int, limit: Int, pagesAhead: Int) {
            (self.rows, self.limit, self.pagesAhead) = (rows, limit, pagesAhead)
        }

        /// Without a pace rows are read and opened on other threads while the runs send. With one
        /// nothing would be gained by more pages, and a row that was read waits for its push: a
        /// quarter of a second.
        init(_ pace: RunPace) {
            // Three quarters of what is read at once: hardly any page needs a second reading.
            let most = Limits.scanRows * 3 / 4
            rows = min(max(Int(min(pace.perSecond, 1e9) / 4), 1), most)
            limit = min(rows + rows / 3 + 16, Limits.scanRows)
            pagesAhead = pace.isBounded ? 0 : 3
        }
    }
}
