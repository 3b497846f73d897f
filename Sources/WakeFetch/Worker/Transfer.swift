import CRuntime
import WakeSystem

/// A fetch for the fetch thread: the request and its callbacks.
struct FetchJob: Sendable {
    let id: UInt64
    let request: FetchRequest
    let cancellation: CancellationFlag
    let onHead: @Sendable (FetchResponse) -> FetchVerdict
    let sink: @Sendable (Span<UInt8>) -> FetchVerdict
    let onEnd: @Sendable (Result<FetchResponse, FetchError>) -> Void
}

/// A running fetch: checks head and body and decides the result. Confined to the fetch thread.
final class Transfer {
    /// The largest chunk a sink is given.
    static let maximumChunk = 64 * 1024
    /// Of a body that comes with a status other than 2xx.
    static let maximumErrorBody = 4096

    let job: FetchJob
    let attempt: FetchAttempt
    let host: [UInt8]
    let easy: CurlEasy
    private let clock: TransferClock
    private var head: ResponseHead
    private var response: FetchResponse?
    private var received = 0
    private var hasTakenLeastBytes = false
    private var throughput: ThroughputMonitor?
    /// The result, when it is known before libcurl ends the transfer.
    private var outcome: Result<FetchResponse, FetchError>?

    /// - Throws: `outOfResources`, or `libraryMissing` if libcurl refuses an option.
    init(
        _ job: FetchJob, _ attempt: FetchAttempt, host: [UInt8], settings: FetchSettings,
        clock: TransferClock
    ) throws(FetchError) {
        precondition(
            job.request.pin == nil || attempt.address != nil, "a pinned request has an address")
        guard let easy = CurlEasy(settings.curl) else { throw .outOfResources }
        self.job = job
        self.attempt = attempt
        self.host = host
        self.easy = easy
        self.clock = clock
        head = ResponseHead(
            wallClock: Int64(SystemClock.wallSeconds), expected: job.request.expected)
        easy.prepare(job.request, attempt, settings.configuration)
        easy.set(tag: UInt(job.id))
        easy.set(receiver: self)
        switch Int(easy.status) {
        case CURLE_OK: break
        case CURLE_OUT_OF_MEMORY: throw .outOfResources
        default: throw .libraryMissing(settings.curl.missing(.unfit))
        }
    }

    // MARK: Called by libcurl; false aborts the transfer

    func receive(head line: Span<UInt8>) -> Bool {
        guard outcome == nil, !job.cancellation.isSet else { return abort(.failure(.cancelled)) }
        throughput?.count(line.count, at: throughputTime)
        do {
            guard let response = try head.consume(line) else { return true }
            return receive(response)
        } catch {
            return abort(.failure(error))
        }
    }

    private func receive(_ response: FetchResponse) -> Bool {
        let request = job.request
        // RFC 9110 §15.3.7: a part only when one was asked for, and only that part.
        if response.status == 206 {
            guard let range = request.range, response.contentRangeStart == range else {
                return abort(.failure(.protocolViolation))
            }
        }
        // Of a page for people its kind says enough. Push services' bodies are not needed.
        if response.isSuccess, response.isEncoded, response.contentType != .html,
            request.purpose != .gateway
        {
            return abort(.failure(.protocolViolation))
        }
        if response.isSuccess, let length = response.contentLength, length > request.limit {
            return abort(.failure(.tooLarge))
        }
        self.response = response
        let verdict = clock.excluding { job.onHead(response) }
        return verdict == .proceed || abort(.failure(.stopped))
    }

    func receive(body chunk: Span<UInt8>) -> Bool {
        guard outcome == nil, !job.cancellation.isSet else { return abort(.failure(.cancelled)) }
        guard let response else { return abort(.failure(.protocolViolation)) }
        let limit = job.request.limit
        var wanted = chunk.count
        if response.isSuccess {
            guard chunk.count <= limit - received else { return abort(.failure(.tooLarge)) }
        } else {
            wanted = min(wanted, min(limit, Self.maximumErrorBody) - received)
        }
        received += wanted
        var start = 0
        while start < wanted {
            let end = min(wanted, start + Self.maximumChunk)
            let part = chunk.extracting(start..<end)
            let verdict = clock.excluding { job.sink(part) }
            guard verdict == .proceed else { return abort(.failure(.stopped)) }
            start = end
        }
        throughput?.count(chunk.count, at: throughputTime)
        return wanted == chunk.count || abort(.success(response))
    }

    private func abort(_ result: Result<FetchResponse, FetchError>) -> Bool {
        if outcome == nil { outcome = result }
        return false
    }

    // MARK: Called by the loop

    /// The time until the next check, nil before there is a connection; throws `timeout`.
    func checkThroughput() throws(FetchError) -> Duration? {
        let now = throughputTime
        if throughput == nil {
            guard easy.isConnected else { return nil }
            throughput = ThroughputMonitor(job.request.timeout.throughput, from: now)
        }
        switch throughput?.check(at: now) {
        case .enough(let next): return next - now
        case .tooSlow: throw response == nil ? .unanswered : .timeout
        case nil: return nil
        }
    }

    /// Silence counts while the machine is suspended, slowness does not.
    private var throughputTime: Duration {
        job.request.timeout.throughput.isIdle ? clock.bootTime : clock.transferTime
    }

    var isAnswered: Bool { response != nil }

    /// See ``FetchRequest/leastBytes``; once, when the body has begun.
    func takeLeastBytes() -> Int32? {
        guard received > 0, !hasTakenLeastBytes else { return nil }
        hasTakenLeastBytes = true
        return job.request.leastBytes
    }

    /// See ``StallDetector``.
    func readAgain() {
        if easy.isConnected { easy.readAgain() }
    }

    /// Whether it ended with `code` before there was a connection to send the request on.
    func failedToConnect(code: Int32) -> Bool {
        guard outcome == nil, !easy.wasRefused, !easy.isConnected else { return false }
        return Int(code) == CURLE_COULDNT_CONNECT || Int(code) == CURLE_OPERATION_TIMEDOUT
    }

    /// The result by libcurl's code, or the one known before.
    func result(code: Int32) -> Result<FetchResponse, FetchError> {
        if let outcome { return outcome }
        if job.cancellation.isSet { return .failure(.cancelled) }
        if let response, code == 0 || !response.isSuccess { return .success(response) }
        guard code != 0 else { return .failure(.protocolViolation) }
        if easy.wasRefused { return .failure(.addressRefused) }
        if easy.wouldRepeat { return .failure(.unanswered) }
        let error = FetchError(
            code: code, hasHead: response != nil, certificate: easy.certificateFault)
        let isUnanswered = error == .timeout && response == nil && easy.isConnected
        return .failure(isUnanswered ? .unanswered : error)
    }

    /// The result by `error`, unless an error status is known already.
    func result(_ error: FetchError) -> Result<FetchResponse, FetchError> {
        if let outcome { return outcome }
        if error == .timeout, let response, !response.isSuccess { return .success(response) }
        return .failure(error)
    }
}

/// A monitor of one transfer's throughput. Times are durations since any fixed moment.
struct ThroughputMonitor {
    enum Verdict: Equatable {
        /// Sufficient; to be checked again at this time.
        case enough(until: Duration)
        case tooSlow
    }

    private let minimum: FetchTimeout.Throughput
    /// Of the window or of the silence.
    private var start: Duration
    private var bytes = 0

    init(_ minimum: FetchTimeout.Throughput, from now: Duration) {
        self.minimum = minimum
        start = now
    }

    mutating func count(_ count: Int, at now: Duration) {
        switch minimum {
        case .idle: start = now
        // Only `check` ends a window: the next byte after a full one is not measured alone.
        case .atLeast: bytes += count
        }
    }

    mutating func check(at now: Duration) -> Verdict {
        switch minimum {
        case .idle(let silence):
            return now - start >= silence ? .tooSlow : .enough(until: start + silence)
        case .atLeast(let rate, let window):
            if now - start >= window {
                guard Double(bytes) >= Double(rate) * (window / .seconds(1)) else {
                    return .tooSlow
                }
                start = now
                bytes = 0
            }
            return .enough(until: start + window)
        }
    }
}
