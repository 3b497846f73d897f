import WakeModel
import WakeStore
import WakeSystem

/// The first stage of a broadcast run: reads every registration once, page by page, each of as many
/// ranges as have about a page of rows. Used by one task.
struct RegistrationScan {
    enum Step {
        case rows([StoreRow], Generation)
        /// Everything was read: call again when the deliveries are complete.
        case wait
        case end
        case failed
    }

    /// The first page of some ranges, which is being read.
    private struct Ahead {
        let ranges: [BucketRange]
        let page: Task<StorePage?, Never>
    }

    private let store: Store
    private let memory = PageMemory()
    private let checkpoint: CheckpointWriter
    private let size: PageSize
    private var ahead = Deque<Ahead>()
    /// A range that belongs to another page than those before it.
    private var held: BucketRange?
    /// The ranges of the rows that the run has, without those that were read to their ends.
    private var ranges: [BucketRange] = []
    /// Where the rest of these begins; nil when all were read.
    private var after: [UInt8]?
    /// Whether the run has rows.
    private(set) var isInRange = false
    private var density = Density()

    init(_ store: Store, _ checkpoint: CheckpointWriter, size: PageSize) {
        self.store = store
        self.checkpoint = checkpoint
        self.size = size
    }

    mutating func next() async -> Step {
        let page: StorePage?
        if let after {
            page = await read(ranges, after: after).value
        } else {
            // With the first one still there: no page of the other generation is read before all
            // of its ranges are.
            if ahead.isEmpty || size.pagesAhead > 1 { readAhead() }
            guard let first = ahead.popFirst() else { return checkpoint.isComplete ? .end : .wait }
            page = await first.page.value
            checkpoint.begin(first.ranges)
            (ranges, isInRange) = (first.ranges, true)
        }
        guard let page, let generation = ranges.first?.generation else {
            abandon()
            return .failed
        }
        density.add(page.rows.count, ranges[..<page.ranges], of: generation)
        ranges.removeFirst(page.ranges)
        after = page.last
        return .rows(page.rows, generation)
    }

    private mutating func readAhead() {
        while ahead.count < size.pagesAhead {
            let ranges = nextRanges()
            guard let first = ranges.first else { return }
            ahead.append(Ahead(ranges: ranges, page: read(ranges, after: first.ids.after)))
        }
    }

    /// Ranges with about a page of rows. All pages that are being read are of one generation: a row
    /// that moves between must be found in one of them, see ``ScanOrder``.
    private mutating func nextRanges() -> [BucketRange] {
        var ranges: [BucketRange] = []
        var rows = 0
        while ranges.count < Self.rangesAtMost, let next = nextRange() {
            rows += density.rows(in: next, of: store.estimatedRows)
            let generation = ranges.first?.generation ?? ahead.first?.ranges.first?.generation
            guard generation ?? next.generation == next.generation,
                ranges.isEmpty || rows <= size.rows
            else {
                held = next
                break
            }
            ranges.append(next)
        }
        return ranges
    }

    private mutating func nextRange() -> BucketRange? {
        if let held = held.take() { return held }
        if case .range(let next) = checkpoint.next() { return next }
        return nil
    }

    private func read(_ ranges: [BucketRange], after id: [UInt8]) -> Task<StorePage?, Never> {
        Task { [store, memory, size] in
            var ids = ranges.map(\.ids)
            ids[0] = IDRange(after: id, through: ids[0].through)
            return await store.page(
                of: ranges[0].generation, in: ids, limit: size.limit, memory: memory)
        }
    }

    /// Must be called when the rows of a step were handled.
    mutating func finishPage() {
        guard after == nil else { return }
        checkpoint.endRanges()
        isInRange = false
    }

    /// Reads no further: what is left of the ranges is not done.
    mutating func abandon() {
        (ahead, held, ranges, after) = (Deque(), nil, [], nil)
        guard isInRange else { return }
        checkpoint.abandonRanges()
        isInRange = false
    }

    /// Ranges of a page at most: each is a search in the table, also without rows.
    private static let rangesAtMost = 64
}

extension RegistrationScan {
    /// How many rows are read at once, and how many pages ahead.
    struct PageSize {
        /// The rows that a page is expected to have.
        let rows: Int
        /// The most that it has.
        let limit: Int
        let pagesAhead: Int

        init(rows: Int, limit: Int, pagesAhead: Int) {
            (self.rows, self.limit, self.pagesAhead) = (rows, limit, pagesAhead)
        }

        /// Without a pace rows are read and opened on other threads while the run sends. With one
        /// nothing would be gained by more pages, and a row that was read waits for its push: a
        /// quarter of a second.
        init(_ pace: RunPace) {
            // Three quarters of what a page may have: hardly any needs a second one.
            let most = Limits.scanRows * 3 / 4
            rows = min(max(Int(min(pace.perSecond, 1e9) / 4), 1), most)
            limit = min(rows + rows / 3 + 16, Limits.scanRows)
            pagesAhead = pace.isBounded ? 1 : 4
        }
    }

    /// How many rows a bucket has, by generation: ids are uniform.
    private struct Density {
        private var seen: [Generation: (rows: Int, buckets: Int)] = [:]

        mutating func add(
            _ rows: Int, _ ranges: ArraySlice<BucketRange>, of generation: Generation
        ) {
            let buckets = ranges.reduce(0) { $0 + $1.count }
            let before = seen[generation] ?? (0, 0)
            seen[generation] = (before.rows + rows, before.buckets + buckets)
        }

        /// - Parameter estimate: of all rows, for as long as nothing was seen.
        func rows(in range: BucketRange, of estimate: Int) -> Int {
            guard let (rows, buckets) = seen[range.generation], buckets > 0 else {
                return estimate * range.count / BucketBitmap.buckets
            }
            return rows * range.count / buckets
        }
    }
}
