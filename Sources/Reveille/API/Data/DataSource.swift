public import WakeSystem

/// Data that an app publishes already, in a format of its own, and checks in its own way.
/// `WakeClient` does the rest as for the signed feed: wakes, polls, random waits, back-off,
/// delivery, warnings of silence. The source must check who published the data, and that nothing
/// was removed or replayed.
///
/// The calls come one at a time, on any thread. One that takes longer than
/// `SourceConfiguration.timeLimit` is cancelled and fails as `source(.slow)`; one that ignores
/// cancellation holds up further cycles until it returns, and nothing else. Fetch the same whatever
/// the device knows: a request that depends on a match, or on what is searched, reveals it.
public protocol DataSource: Sendable {
    /// The unit of a check: a file, a part of one, some records.
    associatedtype Batch: Sendable

    /// Fetches what was published after `cursor`: that of the last page checked, nil the first
    /// time. After a crash the same page is fetched again.
    /// - Throws: anything; the cycle is tried again with growing pauses. Of `ClientError`,
    ///   `network`, `tls`, `httpStatus` (whose `retryAfter` is honoured), `truncated`, `tooLarge`
    ///   and `protocolViolation` stay; everything else is reported as `source(.failed)`.
    func fetch(after cursor: DataCursor?) async throws -> DataPage<Batch>

    /// Checks one batch against what the device knows, without any request. A match whose `id` was
    /// delivered before is not delivered again. Throws as `fetch(after:)`; no page is stored then.
    func check(_ batch: Batch) async throws -> [Match]

    /// A number that changes whenever the device has more to search for: `recheck()` is then called
    /// before the next fetch. Keep it across restarts. By default it is 0.
    func generation() async throws -> UInt64

    /// Checks data of the past, which the source keeps for as long as it matters, against what the
    /// device knows now; by default nothing. Not called before a page was checked. A cycle in which
    /// it throws goes no further. Do not fetch here: the request would show that this device has
    /// just found something to search for.
    func recheck() async throws -> [Match]
}

extension DataSource {
    /// Always 0: `recheck()` finds nothing new.
    public func generation() async throws -> UInt64 { 0 }

    /// Nothing of the past is kept.
    public func recheck() async throws -> [Match] { [] }
}

/// The result of one fetch of a `DataSource`: checked and stored as one step.
public struct DataPage<Batch: Sendable>: Sendable {
    /// The new batches in the order in which they are to be checked; may be empty.
    public var batches: [Batch]
    /// The start of the next fetch: unchanged when nothing is new, empty if all is always brought.
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

/// The position up to which a `DataSource` was checked: bytes that the client stores, never reads.
public struct DataCursor: Sendable, Hashable, Redacted {
    /// Bytes that a cursor may have; a page with a longer one fails.
    public static let maximumByteCount = 4096

    /// As the app wrote them.
    public let bytes: [UInt8]

    /// - Parameter bytes: at most `maximumByteCount`.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// A cursor that is text: its bytes in UTF-8.
    public init(_ text: String) { self.init(Array(text.utf8)) }

    /// The bytes as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}
