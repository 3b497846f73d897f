import WakeModel
import WakeStore

/// The first stage of a broadcast run: reads every registration once. Without a pace it reads a
/// page ahead, so that rows are read and opened on other threads while the run sends. Used by one
/// task.
struct RegistrationScan {
    enum Step {
        case rows([StoreRow], Generation)
        /// Everything was read: call again when the deliveries are complete.
        case wait
        case end
        case failed
    }

    /// A page that is being read.
    private struct Ahead {
        let range: BucketRange
        let isFirst: Bool
        let page: Task<StorePage?, Never>
    }

    private let store: Store
    private let checkpoint: CheckpointWriter
    /// With a pace, nothing would be gained, and a row would wait longer for its push.
    private let readsAhead: Bool
    /// Where the next page of the range begins, when it is not being read.
    private var after: [UInt8]?
    private var ahead: Ahead?
    /// The range of the rows that the run has.
    private var range: BucketRange?

    init(_ store: Store, _ checkpoint: CheckpointWriter, readsAhead: Bool = true) {
        self.store = store
        self.checkpoint = checkpoint
        self.readsAhead = readsAhead
    }

    var isInRange: Bool { range != nil }

    mutating func next() async -> Step {
        if ahead == nil {
            if let range, let after {
                read(range, after: after, isFirst: false)
            } else {
                switch checkpoint.next() {
                case .wait: return .wait
                case .end: return .end
                case .range(let next): read(next, after: next.after, isFirst: true)
                }
            }
        }
        guard let read = ahead else { return .failed }
        ahead = nil
        let page = await read.page.value
        if read.isFirst {
            checkpoint.begin(read.range)
            range = read.range
        }
        guard let page else {
            abandon()
            return .failed
        }
        // Rows come by id: the first one outside ends the range.
        after = page.last.flatMap { read.range.contains($0) ? $0 : nil }
        if readsAhead { readAhead(of: read.range) }
        return .rows(page.rows, read.range.generation)
    }

    private mutating func readAhead(of range: BucketRange) {
        if let after {
            read(range, after: after, isFirst: false)
        } else if case .range(let next) = checkpoint.next() {
            read(next, after: next.after, isFirst: true)
        }
    }

    private mutating func read(_ range: BucketRange, after id: [UInt8], isFirst: Bool) {
        let expected = store.estimatedRows * range.count / BucketBitmap.buckets
        // Somewhat more than the range will have: one page is enough, and little is read in vain.
        let limit = min(Limits.scanRows, expected + expected / 2 + 16)
        let page = Task { [store] in
            await store.page(
                of: range.generation, after: id, limit: limit, through: range.through)
        }
        ahead = Ahead(range: range, isFirst: isFirst, page: page)
    }

    /// Must be called when the rows of a step were handled.
    mutating func finishPage() {
        guard after == nil else { return }
        checkpoint.endRange()
        range = nil
    }

    /// Reads no further: what is left of the range is not done.
    mutating func abandon() {
        (ahead, after) = (nil, nil)
        guard range != nil else { return }
        checkpoint.abandonRange()
        range = nil
    }
}
