import WakeModel
import WakeStore
import WakeSystem

/// The first stage of a broadcast run: reads every registration once. Without a pace it reads a few
/// pages ahead, so that rows are read and opened on other threads while the run sends. Used by one
/// task.
struct RegistrationScan {
    enum Step {
        case rows([StoreRow], Generation)
        /// Everything was read: call again when the deliveries are complete.
        case wait
        case end
        case failed
    }

    /// The first page of a range, which is being read.
    private struct Ahead {
        let range: BucketRange
        let page: Task<StorePage?, Never>
    }

    private let store: Store
    private let memory = PageMemory()
    private let checkpoint: CheckpointWriter
    /// Pages that are read at once. With a pace, nothing would be gained by more, and a row would
    /// wait longer for its push.
    private let depth: Int
    private var ahead = Deque<Ahead>()
    /// A range that waits until those of the other generation have been read: a row that moves
    /// between must be found in one of them, see ``ScanOrder``.
    private var held: BucketRange?
    /// The range of the rows that the run has.
    private var range: BucketRange?
    /// Where the next page of that range begins; nil when it has none.
    private var after: [UInt8]?

    /// Ranges have a page each, as a rule.
    private static let pagesAhead = 4

    init(_ store: Store, _ checkpoint: CheckpointWriter, readsAhead: Bool = true) {
        self.store = store
        self.checkpoint = checkpoint
        depth = readsAhead ? Self.pagesAhead : 1
    }

    var isInRange: Bool { range != nil }

    mutating func next() async -> Step {
        let page: StorePage?
        if let range, let after {
            page = await read(range, after: after).value
        } else {
            if ahead.isEmpty { readAhead() }
            guard let first = ahead.popFirst() else { return checkpoint.isComplete ? .end : .wait }
            if depth > 1 { readAhead() }
            page = await first.page.value
            checkpoint.begin(first.range)
            range = first.range
        }
        guard let page, let range else {
            abandon()
            return .failed
        }
        after = page.last
        return .rows(page.rows, range.generation)
    }

    private mutating func readAhead() {
        while ahead.count < depth, let next = nextRange() {
            if let first = ahead.first, first.range.generation != next.generation {
                held = next
                return
            }
            ahead.append(Ahead(range: next, page: read(next, after: next.after)))
        }
    }

    private mutating func nextRange() -> BucketRange? {
        if let held = held.take() { return held }
        if case .range(let next) = checkpoint.next() { return next }
        return nil
    }

    private func read(_ range: BucketRange, after id: [UInt8]) -> Task<StorePage?, Never> {
        // Somewhat more than the range will have, so that one page is enough.
        let expected = store.estimatedRows * range.count / BucketBitmap.buckets
        let limit = min(Limits.scanRows, expected + expected / 2 + 16)
        return Task { [store, memory] in
            await store.page(
                of: range.generation, after: id, through: range.through, limit: limit,
                memory: memory)
        }
    }

    /// Must be called when the rows of a step were handled.
    mutating func finishPage() {
        guard after == nil else { return }
        checkpoint.endRange()
        range = nil
    }

    /// Reads no further: what is left of the range is not done.
    mutating func abandon() {
        (ahead, held, after) = (Deque(), nil, nil)
        guard range != nil else { return }
        checkpoint.abandonRange()
        range = nil
    }
}
