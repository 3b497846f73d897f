import WakeSystem

/// The relay of an app's owner.
final class RelayService: HTTPService {
    private let options: RelayOptions
    private var check: SignatureCheck
    private let lines: RelayLines
    private let inFlight = InFlightCounter()
    /// Installations that were told to wait, and whose next request may have left before that: two
    /// are under way at once.
    private var forewarned: Set<[UInt8]> = []

    private var batches = 0
    private var wakes = 0
    private var services: [String: Int] = [:]
    private var installations: [String: Int] = [:]
    private var largest = 0

    init(_ options: RelayOptions) {
        self.options = options
        check = SignatureCheck(
            authority: options.authority, installations: options.installations)
        lines = RelayLines(options)
        super.init(options.common)
    }

    override var endpoints: [Endpoint] {
        super.endpoints.map { endpoint in
            var endpoint = endpoint
            endpoint.selectsHTTP2 = false
            return endpoint
        }
    }

    override func judge(_ request: HTTPRequest) -> Reaction {
        let lease = InFlightLease(inFlight)
        guard request.path == "/v1/relay/wakes" else { return refuse("path", 404, "not_found") }
        guard request.method == "POST" else {
            return refuse("method", 405, "method_not_allowed")
        }
        guard request.bodyCount <= RelayBatchCheck.longestBody else {
            return refuse("too-large", 413, "relay_batch_too_large")
        }
        let installation: String
        do throws(SignatureCheck.Fault) {
            installation = try check.installation(of: request, now: clock.seconds)
        } catch {
            return refuse(error.rawValue, error.status, error.rawValue)
        }
        do throws(RelayBatchCheck.Fault) {
            let batch = try RelayBatchCheck(request.body)
            guard options.lifetime == nil || options.lifetime == batch.lifetime else {
                throw RelayBatchCheck.Fault("lifetime")
            }
            return settle(batch, installation, lease)
        } catch {
            return refuse(error.word, error.status, error.code)
        }
    }

    private func refuse(_ word: String, _ status: Int, _ code: String) -> Reaction {
        refuse(word)
        return .answer(Self.problem(status, code), nil)
    }

    /// RFC 9457
    private static func problem(_ status: Int, _ code: String) -> HTTPAnswer {
        let text = "{\"status\":\(status),\"code\":\"\(code)\",\"title\":\"refused\"}"
        return HTTPAnswer(
            status, [("content-type", "application/problem+json")], body: Array(text.utf8))
    }

    /// What comes of a batch that is as it must be.
    private func settle(
        _ batch: RelayBatchCheck, _ installation: String, _ lease: InFlightLease
    ) -> Reaction {
        let subject = Array(installation.utf8)
        counters.proper += 1
        if forewarned.remove(subject) == nil { checkRetryAfter(subject) }
        if let fault = connectionFault(subject) { return fault }
        if let scripted = scriptedAnswer(for: subject), scripted.status != 200 {
            recordRetryAfter(subject, seconds: scripted.retryAfter)
            if scripted.retryAfter != nil { forewarned.insert(subject) }
            var answer = Self.problem(scripted.status, scripted.reason)
            if let seconds = scripted.retryAfter {
                answer.fields.append(("retry-after", "\(seconds)"))
            }
            return .answer(answer, lease)
        }
        installations[installation, default: 0] += 1
        return .answer(deliver(batch.wakes), lease)
    }

    private func deliver(_ batch: [RelayBatchCheck.Wake]) -> HTTPAnswer {
        let made = lines.make(batch)
        batches += 1
        wakes += batch.count
        largest = max(largest, batch.count)
        for wake in batch { services[wake.service, default: 0] += 1 }
        for token in made.accepted { counters.deliver(Array(token.utf8)) }
        let isCut = options.cutAfter != nil && batches <= options.cutBatches
        if isCut { counters.faults["cut", default: 0] += 1 }
        return lines.answer(made.lines, isCut: isCut)
    }

    override func members() -> [(name: String, json: String)] {
        [
            ("batches", "\(batches)"), ("wakes", "\(wakes)"), ("largestBatch", "\(largest)"),
            ("mostAtOnce", "\(inFlight.most)"), ("installations", "\(installations.count)"),
            ("services", Counters.object(services.map { ($0.key, "\($0.value)") })),
        ]
    }
}
