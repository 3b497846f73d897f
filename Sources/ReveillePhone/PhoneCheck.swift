import Dispatch
import Foundation
import WakeFeed

/// One check of the feed: the head, the keys if another one signed it, and every batch that was not
/// checked, match or not. Each request begins at a time that nothing on this device decides, and
/// connections are closed after the same time whatever was found.
struct PhoneCheck: Sendable {
    /// Seconds after the last answer after which connections are closed, with the next request's
    /// time.
    static let linger = 0.4

    /// What a check brought.
    struct End: Sendable {
        var batches = 0
        var matches = 0
        var failure: PhoneError?
    }

    let trust: PhoneConfiguration.Trust
    let feed: URL
    let store: PhoneStore
    let transport: any PhoneTransport
    let environment: PhoneEnvironment
    /// By the clock of uptime.
    let deadline: TimeInterval

    /// - Parameters:
    ///   - secrets: nil when they cannot be read: then what every client fetches is fetched, and
    ///     nothing of it counts.
    ///   - called: when the cycle was called for, by the clock of uptime.
    func run(against secrets: LocalSecretSet?, since called: TimeInterval) async -> End {
        var line = PacedLine(self, since: called)
        var end = End()
        do throws(PhoneError) { try await check(secrets, &line, &end) } catch {
            end.failure = error
        }
        await line.linger()
        await transport.close(.feed)
        return end
    }

    private func check(
        _ secrets: LocalSecretSet?, _ line: inout PacedLine, _ end: inout End
    ) async throws(PhoneError) {
        try await takeHead(&line)
        var queue = BatchQueue(try store.state().plan)
        while let batch = queue.next() {
            do throws(PhoneError) {
                end.matches += try await take(batch, secrets, &line)
                end.batches += secrets == nil ? 0 : 1
                queue.succeeded()
            } catch {
                guard error.isOfBatch else { throw error }
                end.failure = end.failure ?? error
                queue.failed { .random(in: 0..<1) }
            }
        }
    }

    private func takeHead(_ line: inout PacedLine) async throws(PhoneError) {
        let answer: PhoneResponse
        do throws(PhoneError) {
            answer = try await line.get("head", FeedLimits.headFileBytes)
        } catch {
            // A captive portal's page is longer than any head, or elsewhere.
            if error.isOfPortal { try store.update { $0.takePortal(now: environment.seconds) } }
            throw error
        }
        let file = Array(answer.body)
        var keys: Result<[UInt8], PhoneError>?
        if try store.state().needsKeys(for: file, key: trust.key) {
            // The head may be of use without.
            do throws(PhoneError) {
                keys = .success(Array(try await line.get("keys", FeedLimits.keysBytes).body))
            } catch {
                guard error != .cancelled else { throw .cancelled }
                keys = .failure(error)
            }
        }
        let now = environment.seconds
        let serverTime = answer.date.flatMap(Self.seconds)
        let (failure, before) = try store.update { state in
            let before = state
            return (
                state.take(head: file, keys: keys, trust, now: now, serverTime: serverTime), before
            )
        }
        switch failure {
        case .fork: keepEvidence(before, file, "head")
        case .unwitnessed(.otherHistory): store.keep(evidence: file, as: "log-proof")
        default: break
        }
        if let failure { throw failure }
    }

    /// - Returns: the number of new matches.
    private func take(
        _ batch: VerifiedHead.PlannedBatch, _ secrets: LocalSecretSet?, _ line: inout PacedLine
    ) async throws(PhoneError) -> Int {
        var bytes = try await line.get("b/" + batch.name, Self.batchLimit).body
        guard let secrets else { return 0 }
        var taken = try commit(batch.sequence, bytes, secrets)
        if taken == .failure(.corruptBatch) {
            // A cache on the way may hold the damage.
            bytes = try await line.get("b/" + batch.name, Self.batchLimit, bypassingCaches: true)
                .body
            taken = try commit(batch.sequence, bytes, secrets)
        }
        return try taken.get()
    }

    private static let batchLimit = FeedLimits.headerBytes + FeedLimits.payloadBytes

    private func commit(
        _ sequence: UInt64, _ bytes: Data, _ secrets: LocalSecretSet
    ) throws(PhoneError) -> Result<Int, PhoneError> {
        let (bytes, now) = (Array(bytes), environment.seconds)
        let (taken, before) = try store.update { state in
            let before = state
            return (state.take(batch: sequence, bytes, against: secrets, now: now), before)
        }
        if taken == .failure(.fork) {
            keepEvidence(before, Array(bytes.prefix(FeedLimits.headerBytes)), "batch-header")
        }
        return taken
    }

    /// Both halves of the first proof; what is refused after it may be no half of one.
    private func keepEvidence(_ before: PhoneState, _ other: [UInt8], _ kind: String) {
        guard !before.isForked, let known = before.headBytes else { return }
        store.keep(evidence: known, as: "known-head")
        store.keep(evidence: other, as: "other-" + kind)
    }

    /// Seconds since 1970 of a field `Date` (RFC 9110 §5.6.7).
    private static func seconds(_ date: String) -> Int64? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.date(from: date).map { Int64($0.timeIntervalSince1970) }
    }
}

/// The clocks of a client.
struct PhoneEnvironment: Sendable {
    /// Seconds since 1970; may jump.
    var wall: @Sendable () -> Double = { Date().timeIntervalSince1970 }
    /// Seconds that only grow.
    var uptime: @Sendable () -> TimeInterval = {
        Double(DispatchTime.now().uptimeNanoseconds) / 1_000_000_000
    }

    var seconds: Int64 { Int64(wall()) }
}

/// The requests of one check, each at a multiple of a fixed time after the first, and a little
/// more, at random: to search and to store an answer takes longer when there is a match in it, and
/// an observer of the line must not learn that from the time of the next request, or of the end.
private struct PacedLine {
    /// Seconds: longer than it takes, as a rule, to store an answer.
    private static let step = 0.1
    /// Of the first request: longer than it takes to read and hash thousands of secrets.
    private static let firstStep = 1.0
    /// The most that is added at random: a processor that has just computed is awake, and begins a
    /// request some microseconds sooner.
    private static let jitter = 0.02

    private let check: PhoneCheck
    /// By the clock of uptime: the call, then the first request.
    private var start: TimeInterval
    private var step = Self.firstStep
    private var lastAnswer: TimeInterval

    init(_ check: PhoneCheck, since called: TimeInterval) {
        self.check = check
        (start, lastAnswer) = (called, called)
    }

    /// Fetches a file of the feed.
    /// - Throws: `httpStatus` for every status but 200.
    mutating func get(
        _ path: String, _ limit: Int, bypassingCaches: Bool = false
    ) async throws(PhoneError) -> PhoneResponse {
        let time = next(after: check.environment.uptime())
        try await wait(until: time)
        if step == Self.firstStep { (start, step) = (time, Self.step) }
        let left = check.deadline - check.environment.uptime()
        guard left > 0.5 else { throw .outOfTime }
        let request = PhoneRequest(
            url: check.feed.appendingPathComponent(path), method: "GET",
            fields: bypassingCaches ? ["Cache-Control": "no-cache"] : [:], body: nil,
            purpose: .feed, limit: limit, timeLimit: left)
        defer { lastAnswer = check.environment.uptime() }
        let answer = try await check.transport.send(request)
        guard answer.status == 200 else {
            throw [404, 410].contains(answer.status) && path.hasPrefix("b/")
                ? .missingBatch : .httpStatus(answer.status)
        }
        return answer
    }

    func linger() async { try? await wait(until: next(after: lastAnswer + PhoneCheck.linger)) }

    private func next(after time: TimeInterval) -> TimeInterval {
        start + ((max(0, time - start) / step).rounded(.down) + 1) * step
    }

    private func wait(until time: TimeInterval) async throws(PhoneError) {
        let wait = max(0, time - check.environment.uptime()) + .random(in: 0..<Self.jitter)
        do { try await Task.sleep(nanoseconds: UInt64(wait * 1_000_000_000)) } catch {
            throw .cancelled
        }
    }
}

extension PhoneError {
    /// A failure to get one batch, which keeps no other from being checked.
    fileprivate var isOfBatch: Bool {
        switch self {
        case .network, .tls, .httpStatus, .truncated, .tooLarge, .badSignature, .wrongFeed,
            .corruptBatch, .missingBatch, .protocolViolation:
            true
        default: false
        }
    }

    /// An answer that captive portals give to a request for a head.
    fileprivate var isOfPortal: Bool {
        switch self {
        case .tooLarge: true
        case .httpStatus(let status): [302, 303, 307, 511].contains(status)
        default: false
        }
    }
}
