import WakeFeed
import WakeSystem

/// A cycle over a source of the app's own: each page is stored with its matches in one transaction.
struct AppSourceCycle: CycleSource {
    /// Pages of one cycle, in case that cursors run in a circle. The next cycle goes on.
    static let pagesPerCycle = 4096

    let source: any DataSource
    let configuration: SourceConfiguration
    let profile: ProfileState
    let environment: ClientEnvironment
    let app: AppCaller

    /// The app's settings in the form of a feed's head.
    static func settings(of configuration: SourceConfiguration) -> FeedSettings {
        FeedSettings(
            pollSeconds: UInt32(clamping: configuration.pollInterval.wholeSeconds),
            spreadSeconds: UInt32(clamping: configuration.spread.wholeSeconds))
    }

    func cycle(
        hint: UInt64?, due: Duration, onLate: () -> Void
    ) async throws(ClientError) -> CycleEnd {
        let source = source
        var (batches, matches) = (0, 0)
        for _ in 0..<Self.pagesPerCycle {
            let cursor = cursor
            let page = try await limited(onLate) { try await source.checkedPage(after: cursor) }
            guard page.cursor.bytes.count <= DataCursor.maximumByteCount else {
                throw .source(.cursorTooLarge)
            }
            batches += page.batches.count
            matches += try commit(page)
            guard page.hasMore else {
                environment.log(.cycleEnded(batches: batches))
                return (
                    batches == 0 ? .upToDate : .checked(batches: batches, matches: matches), nil
                )
            }
            guard page.cursor != cursor else { throw .source(.stuck) }
        }
        throw .source(.endless)
    }

    func renewHead() {}

    private var cursor: DataCursor? {
        guard case .app(let cursor, _) = profile.record.position else {
            preconditionFailure("the state belongs to another kind of source")
        }
        return cursor
    }

    private func commit(_ page: DataPage<[Match]>) throws(ClientError) -> Int {
        let now = environment.wallSeconds()
        var next = profile.record
        next.position = .app(page.cursor, Self.settings(of: configuration))
        next.health.headVerified(now: now)
        if !page.hasMore { next.health.checkCompleted(now: now) }
        let oldest = now - max(configuration.retention.wholeSeconds, 0)
        return try profile.save(
            next, matches: Self.stamped(page.batches.flatMap(\.self), at: now),
            dropBefore: (UInt64(clamping: oldest), oldest))
    }

    func generation(onLate: () -> Void) async throws(ClientError) -> UInt64 {
        let source = source
        return try await limited(onLate) { try await source.generation() }
    }

    func recheck(onLate: () -> Void) async throws(ClientError) -> Recheck {
        guard cursor != nil else { return Recheck() }
        let source = source
        let matches = try await limited(onLate) { try await source.recheck() }
        guard !matches.isEmpty else { return Recheck() }
        let now = environment.wallSeconds()
        let new = try profile.save(
            profile.record, matches: Self.stamped(matches, at: now))
        return Recheck(new: new)
    }

    /// Puts `now` in place of a batch's number: a match that is brought again is remembered longer.
    private static func stamped(_ matches: [Match], at now: Int64) -> [Match] {
        matches.map { $0.with(sequence: UInt64(clamping: now)) }
    }

    var quota: DailyQuota? { nil }

    func eraseCache() {}

    /// Runs `body` on the source's own executor: one that blocks keeps nothing else waiting.
    private func limited<Value: Sendable>(
        _ onLate: () -> Void, _ body: @escaping @Sendable () async throws -> Value
    ) async throws(ClientError) -> Value {
        let timeLimit = max(configuration.timeLimit, .seconds(1))
        let (environment, app) = (environment, app)
        // nil when the time is up.
        let end = await withTaskGroup(of: Result<Value, any Error>?.self) { group in
            group.addTask { await app.call(body) }
            group.addTask {
                await environment.sleep(timeLimit)
                return nil
            }
            let first = await group.next() ?? nil
            if first == nil, !Task.isCancelled { onLate() }
            group.cancelAll()
            return first
        }
        guard !Task.isCancelled else { throw .cancelled }
        switch end {
        case .success(let value): return value
        case .failure(let error): throw ClientError(thrownBySource: error)
        case nil: throw .source(.slow)
        }
    }
}

extension DataSource {
    fileprivate func checkedPage(after cursor: DataCursor?) async throws -> DataPage<[Match]> {
        let page = try await fetch(after: cursor)
        var matches: [[Match]] = []
        for batch in page.batches {
            try Task.checkCancellation()
            matches.append(try await check(batch))
        }
        return DataPage(batches: matches, cursor: page.cursor, hasMore: page.hasMore)
    }
}

extension ClientError {
    /// Failures that a source has in common with the feed keep their names.
    fileprivate init(thrownBySource error: any Error) {
        let error = error as? ClientError ?? .source(.failed)
        switch error {
        case .network, .tls, .httpStatus, .truncated, .tooLarge, .protocolViolation: self = error
        default: self = .source(.failed)
        }
    }
}
