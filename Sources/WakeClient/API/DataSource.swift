public import WakeSystem

/// Data that an app publishes already, in a format of its own, and checks in its own way.
///
/// `WakeClient` does the rest as it does for the signed feed: wakes, polls, random waits, back-off,
/// delivery, warnings of silence. The source must check who published the data, and that nothing
/// was removed or replayed.
///
/// The calls come one at a time, on any thread. One that takes longer than
/// `SourceConfiguration.timeLimit` is cancelled and fails as `ClientError.source(_:)` `.slow`; one
/// that ignores cancellation holds up further cycles until it returns, and nothing else.
///
/// Fetch the same whatever the device knows: a request that depends on a match, or on what is
/// searched, reveals it to every observer.
public protocol DataSource: Sendable {
    /// The unit of a check: a file, a part of one, some records.
    associatedtype Batch: Sendable

    /// Fetches what was published after `cursor`. After a crash the same page is fetched again.
    /// - Parameter cursor: of the last page that was checked; nil the first time.
    /// - Throws: anything; the cycle is then tried again with growing pauses. Of `ClientError`,
    ///   `network`, `tls`, `httpStatus` (whose `retryAfter` is honoured), `truncated`, `tooLarge`
    ///   and `protocolViolation` stay as they are; everything else is reported as
    ///   `ClientError.source(_:)` `.failed`.
    func fetch(after cursor: DataCursor?) async throws -> DataPage<Batch>

    /// Checks one batch against what the device knows, without any request.
    /// - Returns: the matches. One whose `id` was delivered before is not delivered again.
    /// - Throws: as `fetch(after:)`; nothing of the page is stored then.
    func check(_ batch: Batch) async throws -> [Match]

    /// A number that changes whenever the device has more to search for: `recheck()` is then called
    /// before the next fetch. Keep it across restarts. By default it is 0.
    func generation() async throws -> UInt64

    /// Checks data of the past against what the device knows now. Not called before a page was
    /// checked. A cycle in which it throws goes no further.
    ///
    /// By default it finds nothing. Keep fetched data for as long as it matters, and check it here.
    /// Do not fetch here: the request would show that this device has just found something to
    /// search for.
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
    /// The start of the next fetch: the same as before when nothing is new, an empty one from a
    /// source that always brings everything.
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

/// The position up to which a `DataSource` was checked, in a form of the app's own: bytes that the
/// client stores, hands back and never reads.
public struct DataCursor: Sendable, Hashable, Redacted {
    /// Bytes that a cursor may have; a page with a longer one fails.
    public static let maximumByteCount = 4096

    /// As the app wrote them.
    public let bytes: [UInt8]

    /// - Parameter bytes: at most `maximumByteCount`.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}
