import WakeSystem

/// Gives out access tokens for assertions (RFC 7523 §2.1; Google, "Using OAuth 2.0 for server to
/// server applications"), and knows them again.
struct TokenIssuer {
    struct Outcome {
        var answer: HTTPAnswer
        /// What was wrong with the request.
        var refusal: String?
        /// The fault that a flag asked for.
        var fault: String?
    }

    private let options: FCMOptions
    private let check: AssertionCheck
    /// Until when each token is good, seconds since 1970.
    private var ends: [String: Int] = [:]
    private var revoked: Set<String> = []
    private var seen: Set<String> = []

    /// Proper exchanges.
    private(set) var exchanges = 0
    private(set) var issued = 0
    let inFlight = InFlightCounter()

    /// Distinct assertions that were proper.
    var assertions: Int { seen.count }

    init(_ options: FCMOptions) throws {
        self.options = options
        check = try AssertionCheck(options)
    }

    // MARK: Messages

    /// What is wrong with the `authorization` of a message; nil when it is good.
    func refusal(of authorization: String?, now: Int) -> String? {
        guard let authorization else { return "authorization-missing" }
        // RFC 6750 §2.1; the scheme in any case (RFC 9110 §11.1).
        guard authorization.prefix(7).lowercased() == "bearer " else { return "authorization" }
        let token = String(authorization.dropFirst(7))
        if revoked.contains(token) { return "access-token-revoked" }
        guard let end = ends[token] else { return "access-token-unknown" }
        return now < end ? nil : "access-token-expired"
    }

    mutating func revokeAll() {
        revoked.formUnion(ends.keys)
        ends = [:]
    }

    // MARK: Exchanges

    mutating func exchange(_ request: HTTPRequest, now: Int) -> Outcome {
        do throws(AssertionCheck.Fault) {
            seen.insert(try check.assertion(in: request, now: now))
        } catch {
            return Outcome(
                answer: Self.refuse(error.status, error.error, error.what), refusal: error.word)
        }
        exchanges += 1
        let number = exchanges
        let scripted =
            options.tokenFirstAnswers.first { number <= $0.count }?.answer
            ?? options.tokenAnswers.first { number.isMultiple(of: $0.every) }?.answer
            ?? options.tokenAnswerAll
        if let scripted, scripted.status != 200 {
            var answer = Self.refuse(
                scripted.status, scripted.reason, "The service was told to say so.")
            if let seconds = scripted.retryAfter {
                answer.fields.append(("retry-after", "\(seconds)"))
            }
            return Outcome(answer: answer, fault: "token \(scripted.status)")
        }
        return Outcome(answer: issue(now))
    }

    private mutating func issue(_ now: Int) -> HTTPAnswer {
        issued += 1
        var random = SystemRandomNumberGenerator()
        let token = "ya29.c.mock-\(issued)-" + String(random.next(), radix: 36)
        ends[token] = now + options.tokenLifetime
        var answer = HTTPAnswer.json(
            200,
            "{\"access_token\":\"\(token)\",\"expires_in\":\(options.tokenLifetime),"
                + "\"token_type\":\"Bearer\"}")
        answer.fields.append(("cache-control", "private"))
        return answer
    }

    /// RFC 6749 §5.2
    private static func refuse(_ status: Int, _ error: String, _ what: String) -> HTTPAnswer {
        .json(status, "{\"error\":\"\(error)\",\"error_description\":\"\(what)\"}")
    }
}
