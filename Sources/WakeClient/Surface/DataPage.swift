/// What one fetch of a `DataSource` brings: checked, told and stored as one step.
public struct DataPage<Batch: Sendable>: Sendable {
    /// What is new, in the order in which it is to be checked; may be empty.
    public var batches: [Batch]
    /// Where the next fetch goes on. The cursor that was handed in when nothing is new; an empty
    /// one from a source that always brings everything.
    public var cursor: DataCursor
    /// More is there already, and is fetched in the same cycle. The cursor must have moved then.
    public var hasMore: Bool

    /// A page; the last one unless `hasMore` is set.
    public init(batches: [Batch], cursor: DataCursor, hasMore: Bool = false) {
        self.batches = batches
        self.cursor = cursor
        self.hasMore = hasMore
    }
}
