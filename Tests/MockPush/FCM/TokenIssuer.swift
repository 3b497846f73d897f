import WakeSystem

/// Gives out access tokens for assertions (RFC 7523 §2.1; Google, "Using OAuth 2.0 for server to
/// server applications"), and knows them again. Signatures are verified by openssl and PyJWT in
/// `FCMAssertionTests`.
struct TokenIssuer {
    struct Outcome {
        var answer: HTTPAnswer
        /// What was wrong with the request.
        var refusal: String?
    }

    private struct Fault: Error {
        let word: String
        let error: String

        init(_ word: String, _ error: String = "invalid_grant") {
            self.word = word
            self.error = error
        }
    }

    private static let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// Seconds by which clocks may differ.
    private static let skew = 60
    private static let lifetime = 3599

    private let options: FCMOptions
    /// Until when each token is good, seconds since 1970.
    private var ends: [String: Int] = [:]
    private var revoked: Set<String> = []
    private var seen: Set<String> = []

    /// Proper exchanges.
    private(set) var exchanges = 0
    private(set) var issued = 0

    /// Distinct assertions that were proper.
    var assertions: Int { seen.count }

    init(_ options: FCMOptions) { self.options = options }

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

    mutating func exchange(_ request: HTTPRequest, now: Int) -> Outcome {
        do throws(Fault) {
            seen.insert(try assertion(in: request, now: now))
        } catch {
            // RFC 6749 §5.2
            return Outcome(
                answer: .json(400, "{\"error\":\"\(error.error)\"}"), refusal: error.word)
        }
        exchanges += 1
        issued += 1
        var random = SystemRandomNumberGenerator()
        let token = "ya29.c.mock-\(issued)-" + String(random.next(), radix: 36)
        ends[token] = now + Self.lifetime
        return Outcome(
            answer: .json(
                200,
                "{\"access_token\":\"\(token)\",\"expires_in\":\(Self.lifetime),"
                    + "\"token_type\":\"Bearer\"}"))
    }

    /// The assertion of a request that is as it must be.
    private func assertion(in request: HTTPRequest, now: Int) throws(Fault) -> String {
        guard request.method == "POST",
            request.field("content-type") == "application/x-www-form-urlencoded"
        else { throw Fault("token-content-type", "invalid_request") }
        let form = String(decoding: request.body, as: UTF8.self).split(separator: "&")
        // Its value is escaped, the assertion needs no escapes.
        let grant = "grant_type=" + Self.grant.split(separator: ":").joined(separator: "%3A")
        guard form.count == 2, let place = form.firstIndex(where: { $0 == grant }),
            form[1 - place].hasPrefix("assertion=")
        else { throw Fault("grant-type", "unsupported_grant_type") }
        let text = String(form[1 - place].dropFirst("assertion=".count))
        guard let token = JWT(text) else { throw Fault("assertion") }
        guard token.header["alg"]?.string == "RS256", token.header["typ"]?.string == "JWT",
            Set(token.header.keys).isSubset(of: ["alg", "typ", "kid"]),
            options.keyID == nil || options.keyID == token.header["kid"]?.string
        else { throw Fault("assertion-header") }
        let claims = token.claims
        guard Set(claims.keys) == ["iss", "scope", "aud", "iat", "exp"] else {
            throw Fault("assertion-claims")
        }
        guard let email = claims["iss"]?.string, options.email == nil || options.email == email
        else { throw Fault("assertion-iss") }
        guard claims["scope"]?.string == Self.scope else {
            throw Fault("assertion-scope", "invalid_scope")
        }
        guard claims["aud"]?.string == request.origin + request.path else {
            throw Fault("assertion-aud")
        }
        // A short-lived token (60 minutes) and in a reasonable timeframe.
        guard let start = claims["iat"]?.integer, let end = claims["exp"]?.integer,
            start <= now + Self.skew, end > now - Self.skew, end > start, end - start <= 3600
        else { throw Fault("assertion-time") }
        return text
    }
}
