import WakeFeed

/// A source of the app's own: calls it, with an end to every call.
struct OwnSource: Sendable {
    /// Pages of one cycle. A source that has more goes on with the next cycle; one whose cursors
    /// run in a circle does no harm.
    static let pagesPerCycle = 4096

    /// A page whose batches were checked and are not stored yet.
    struct CheckedPage: Sendable {
        let cursor: DataCursor
        let batches: Int
        let matches: [Match]
        let hasMore: Bool
    }

    private let source: any DataSource
    private let timeLimit: Duration
    /// Told matches are remembered for so many seconds after the source last brought them.
    let retentionSeconds: Int64
    /// What the app asks of the cycle, in the words of a feed's head.
    let settings: FeedSettings

    init(_ source: any DataSource, _ configuration: SourceConfiguration) {
        self.source = source
        timeLimit = max(configuration.timeLimit, .seconds(1))
        retentionSeconds = max(configuration.retention.wholeSeconds, 0)
        settings = FeedSettings(
            pollSeconds: UInt32(clamping: configuration.pollInterval.wholeSeconds),
            spreadSeconds: UInt32(clamping: configuration.spread.wholeSeconds))
    }

    /// Fetches the page after `cursor` and checks it.
    /// - Parameter onLate: called when the source takes too long, before it is waited for.
    func page(
        after cursor: DataCursor?, in environment: ClientEnvironment,
        onLate: () -> Void
    ) async throws(ClientError) -> CheckedPage {
        let source = source
        let page = try await limited(in: environment, onLate: onLate) {
            try await source.checkedPage(after: cursor)
        }
        guard page.cursor.bytes.count <= DataCursor.maximumByteCount else {
            throw .source(.cursorTooLarge)
        }
        return page
    }

    func generation(
        in environment: ClientEnvironment, onLate: () -> Void
    ) async throws(ClientError) -> UInt64 {
        let source = source
        return try await limited(in: environment, onLate: onLate) { try await source.generation() }
    }

    func recheck(
        in environment: ClientEnvironment, onLate: () -> Void
    ) async throws(ClientError) -> [Match] {
        let source = source
        return try await limited(in: environment, onLate: onLate) { try await source.recheck() }
    }

    private enum End<Value: Sendable>: Sendable {
        case returned(Value)
        case threw(any Error)
        case timeIsUp
    }

    /// Runs on the concurrent pool and not on the client's queue: what the source does there keeps
    /// nothing else waiting.
    private func limited<Value: Sendable>(
        in environment: ClientEnvironment, onLate: () -> Void,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws(ClientError) -> Value {
        let timeLimit = timeLimit
        let end = await withTaskGroup(of: End<Value>.self) { group in
            group.addTask {
                do {
                    return .returned(try await body())
                } catch {
                    return .threw(error)
                }
            }
            group.addTask {
                await environment.sleep(timeLimit)
                return .timeIsUp
            }
            let first = await group.next()
            if case .timeIsUp = first, !Task.isCancelled { onLate() }
            group.cancelAll()
            return first
        }
        guard !Task.isCancelled else { throw .cancelled }
        switch end {
        case .returned(let value): return value
        case .threw(let error): throw ClientError(thrownBySource: error)
        case .timeIsUp, nil: throw .source(.slow)
        }
    }
}

extension DataSource {
    fileprivate func checkedPage(
        after cursor: DataCursor?
    ) async throws -> OwnSource.CheckedPage {
        let page = try await fetch(after: cursor)
        var matches: [Match] = []
        for batch in page.batches {
            try Task.checkCancellation()
            matches += try await check(batch)
        }
        return OwnSource.CheckedPage(
            cursor: page.cursor, batches: page.batches.count, matches: matches,
            hasMore: page.hasMore)
    }
}

extension ClientError {
    /// Failures that a source has in common with the feed keep their names; no other can be told
    /// from a fault of the client's own.
    fileprivate init(thrownBySource error: any Error) {
        switch error as? ClientError {
        case .network: self = .network
        case .tls: self = .tls
        case .httpStatus(let status, let retryAfter):
            self = .httpStatus(status, retryAfter: retryAfter)
        case .truncated: self = .truncated
        case .tooLarge: self = .tooLarge
        case .protocolViolation: self = .protocolViolation
        default: self = .source(.failed)
        }
    }
}
