import CRuntime
import Glibc

/// One fetch while it runs: judges what comes, in order, and decides how it ends. Lives on the
/// fetch thread only.
final class Transfer {
    /// The most a sink is given at once.
    static let maximumChunk = 64 * 1024
    /// Of a body that comes with a status other than 2xx.
    static let maximumErrorBody = 4096

    let job: FetchJob
    let attempt: FetchAttempt
    /// Whose turn this is.
    let host: [UInt8]
    let easy: CurlEasy
    private let clock: FetchClock
    private var head: ResponseHead
    private var response: FetchResponse?
    private var received = 0
    private var pace: PaceMeter?
    /// How the fetch ends, once that is settled before libcurl says that it is over.
    private var outcome: Result<FetchResponse, FetchError>?

    /// Throws `outOfResources`, or `libraryMissing` if libcurl refuses an option.
    init(
        _ job: FetchJob, _ attempt: FetchAttempt, host: [UInt8], settings: FetchSettings,
        clock: FetchClock
    ) throws(FetchError) {
        precondition(
            job.request.pin == nil || attempt.address != nil, "a pinned request has an address")
        guard let easy = CurlEasy(settings.curl) else { throw .outOfResources }
        self.job = job
        self.attempt = attempt
        self.host = host
        self.easy = easy
        self.clock = clock
        head = ResponseHead(wallClock: Int64(time(nil)))
        easy.prepare(job.request, attempt, settings.configuration)
        easy.set(tag: UInt(job.id))
        easy.set(receiver: self)
        switch Int(easy.status) {
        case CURLE_OK: break
        case CURLE_OUT_OF_MEMORY: throw .outOfResources
        default: throw .libraryMissing(settings.curl.lacking(.unfit))
        }
    }

    // MARK: What libcurl hands over; false aborts

    func receive(head line: Span<UInt8>) -> Bool {
        guard outcome == nil, !job.ticket.isCancelled else { return settle(.failure(.cancelled)) }
        pace?.observe(line.count, at: clock.patience)
        do {
            guard let response = try head.consume(line) else { return true }
            return receive(response)
        } catch {
            return settle(.failure(error))
        }
    }

    private func receive(_ response: FetchResponse) -> Bool {
        let request = job.request
        // RFC 9110 §15.3.7: a part only for whoever asked for one, and the part that was asked for.
        if response.status == 206 {
            guard let range = request.range, response.contentRangeStart == range else {
                return settle(.failure(.protocolViolation))
            }
        }
        if response.isSuccess, let length = response.contentLength, length > request.limit {
            return settle(.failure(.tooLarge))
        }
        self.response = response
        let verdict = clock.excluding { job.onHead(response) }
        return verdict == .proceed || settle(.failure(.stopped))
    }

    func receive(body chunk: Span<UInt8>) -> Bool {
        guard outcome == nil, !job.ticket.isCancelled else { return settle(.failure(.cancelled)) }
        guard let response else { return settle(.failure(.protocolViolation)) }
        let limit = job.request.limit
        var wanted = chunk.count
        if response.isSuccess {
            guard chunk.count <= limit - received else { return settle(.failure(.tooLarge)) }
        } else {
            wanted = min(wanted, min(limit, Self.maximumErrorBody) - received)
        }
        received += wanted
        var start = 0
        while start < wanted {
            let end = min(wanted, start + Self.maximumChunk)
            let piece = chunk.extracting(start..<end)
            let verdict = clock.excluding { job.sink(piece) }
            guard verdict == .proceed else { return settle(.failure(.stopped)) }
            start = end
        }
        pace?.observe(chunk.count, at: clock.patience)
        return wanted == chunk.count || settle(.success(response))
    }

    private func settle(_ result: Result<FetchResponse, FetchError>) -> Bool {
        if outcome == nil { outcome = result }
        return false
    }

    // MARK: What the loop asks

    /// The next time to look at this transfer's pace; nil before there is a connection, when
    /// libcurl's own timer is at work. Throws `timeout`.
    func judgePace() throws(FetchError) -> Duration? {
        let now = clock.patience
        if pace == nil {
            guard easy.isConnected else { return nil }
            pace = PaceMeter(job.request.timeout.pace, from: now)
        }
        switch pace?.judge(at: now) {
        case .enough(let next): return next - now
        case .tooSlow: throw .timeout
        case nil: return nil
        }
    }

    /// Whether the head of the final response has come.
    var isAnswered: Bool { response != nil }

    /// Makes it read again, see ``StallWatch``.
    func nudge() {
        if easy.isConnected { easy.nudge() }
    }

    /// Whether it ended with `code` before there was a connection to send the request on.
    func failedToConnect(code: Int32) -> Bool {
        guard outcome == nil, !easy.wasRefused, !easy.isConnected else { return false }
        return Int(code) == CURLE_COULDNT_CONNECT || Int(code) == CURLE_OPERATION_TIMEDOUT
    }

    /// The end by libcurl's code, or by what was settled before.
    func result(code: Int32) -> Result<FetchResponse, FetchError> {
        if let outcome { return outcome }
        if job.ticket.isCancelled { return .failure(.cancelled) }
        if let response, code == 0 || !response.isSuccess { return .success(response) }
        guard code != 0 else { return .failure(.protocolViolation) }
        if easy.wasRefused { return .failure(.addressRefused) }
        return .failure(FetchError(code: code, hasHead: response != nil))
    }

    /// The end by `error`, unless the answer is already known to be an error status.
    func result(_ error: FetchError) -> Result<FetchResponse, FetchError> {
        if let outcome { return outcome }
        if error == .timeout, let response, !response.isSuccess { return .success(response) }
        return .failure(error)
    }
}
