/// Data that an app publishes already, in a format of its own, and checks in its own way.
///
/// `WakeClient` does the rest as it does for the signed feed: it wakes and polls, waits at random,
/// runs one cycle at a time, backs off, stores cursor and matches in one step, tells every match
/// until it is told, and warns of silence. What the signed feed checks by itself is for the source
/// to check: who published the data, and that nothing of it was taken away or brought back.
///
/// The calls come one at a time, from no particular thread. One that takes longer than
/// `SourceConfiguration.timeLimit` is cancelled and fails as `ClientError.source(_:)` `.slow`; one
/// that ignores cancellation holds up further cycles until it returns, and nothing else.
///
/// Fetch the same whatever the device knows: a request that depends on a match, or on what is
/// looked for, tells whoever sees it.
public protocol DataSource: Sendable {
    /// What is checked in one go: a file, a part of one, some records.
    associatedtype Batch: Sendable

    /// Fetches what was published after `cursor`, and nothing when nothing was.
    ///
    /// The cursor is stored together with what `check(_:)` found in the page, never before: after
    /// a crash the same page is asked for again.
    /// - Parameter cursor: of the last page that was checked; nil the first time.
    /// - Throws: anything; the cycle is then tried again with growing pauses. Of `ClientError`,
    ///   `network`, `tls`, `httpStatus` (whose `retryAfter` is honoured), `truncated`, `tooLarge`
    ///   and `protocolViolation` are taken as they are; everything else is reported as
    ///   `ClientError.source(_:)` `.failed`.
    func fetch(after cursor: DataCursor?) async throws -> DataPage<Batch>

    /// Checks one batch against what the device knows, without any request.
    /// - Returns: what to tell the user. A match whose `id` was told before is not told again.
    /// - Throws: as `fetch(after:)`; nothing of the page is stored then.
    func check(_ batch: Batch) async throws -> [Match]

    /// Changes whenever the device has more to look for. When it differs from the value of the last
    /// time, `recheck()` is called before the next fetch. Keep it across restarts.
    ///
    /// Unless you implement it, it is always 0.
    func generation() async throws -> UInt64

    /// Checks data of the past against what the device knows now. Not called before there is a
    /// past: while no page was ever checked. A cycle in which it throws goes no further.
    ///
    /// Unless you implement it, it finds nothing: then what was fetched before is never checked
    /// against what is added later. Keep what you fetched for as long as it matters, and check that
    /// here. Do not fetch here: it would tell whoever sees the request that this device has just
    /// found something to look for.
    func recheck() async throws -> [Match]
}

extension DataSource {
    /// Always 0: `recheck()` finds nothing new.
    public func generation() async throws -> UInt64 { 0 }

    /// Nothing of the past is kept.
    public func recheck() async throws -> [Match] { [] }
}
