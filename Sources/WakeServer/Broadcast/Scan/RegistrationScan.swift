import WakeModel
import WakeStore

/// The first stage of a broadcast run: reads every registration once. Used by one task.
struct RegistrationScan {
    enum Step {
        case rows([StoreRow], Generation)
        /// Everything was read: call again when the deliveries are complete.
        case wait
        case end
        case failed
    }

    private let store: Store
    private let checkpoint: CheckpointWriter
    private var range: BucketRange?
    private var last: [UInt8]?

    init(_ store: Store, _ checkpoint: CheckpointWriter) {
        self.store = store
        self.checkpoint = checkpoint
    }

    var isInRange: Bool { range != nil }

    mutating func next() async -> Step {
        if range == nil {
            switch checkpoint.next() {
            case .wait: return .wait
            case .end: return .end
            case .range(let next):
                range = next
                last = next.after
            }
        }
        guard let range, let last else { return .failed }
        let expected = store.estimatedRows * range.count / BucketBitmap.buckets
        // Somewhat more than the range will have: one page is enough, and little is read in vain.
        let limit = min(Limits.scanRows, expected + expected / 2 + 16)
        let page = await store.page(
            of: range.generation, after: last, limit: limit, through: range.through)
        guard let page else {
            abandon()
            return .failed
        }
        // Rows come by id: the first one outside ends the range.
        self.last = page.last.flatMap { range.contains($0) ? $0 : nil }
        return .rows(page.rows.filter { range.contains($0.id) }, range.generation)
    }

    /// Must be called when the rows of a step were handled.
    mutating func finishPage() {
        guard last == nil else { return }
        checkpoint.endRange()
        range = nil
    }

    /// Reads no further: what is left of the range is not done.
    mutating func abandon() {
        guard range != nil else { return }
        checkpoint.abandonRange()
        range = nil
        last = nil
    }
}
