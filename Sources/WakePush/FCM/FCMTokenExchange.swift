package import WakeFetch
package import WakeModel
import WakeSystem

/// The sender: an identity at Google that gets access tokens for one Firebase project.
package protocol FCMIdentity: Sendable {
    /// The project of every request.
    var projectID: String { get }

    /// - Parameter now: seconds since 1970.
    func token(by exchange: FCMTokenExchange, now: Int) async -> FCMTokenExchange.Outcome
}

/// One way to an access token, of one or more requests.
package struct FCMTokenExchange: Sendable {
    /// Thrown by the step that leads no further.
    package enum Outcome: Error, Sendable, Equatable {
        /// `lifetime`: seconds.
        case token(SecretBytes, lifetime: Int)
        case refused(FCMFault)
        /// May pass by itself. `retryAfter`: seconds, 0 when not given.
        case failed(retryAfter: Int)
    }

    private let identity: any FCMIdentity
    private let fetcher: Fetcher

    /// Bytes of an answer at most: a token has about a thousand.
    private static let answerLimit = 16_384
    /// Bytes of a token at most: one frame holds it and all other fields.
    static let tokenLimit = 4096
    /// Seconds a token may be valid: shorter ones are of no use, longer ones are cut.
    static let lifetimes = 60...86_400

    package init(_ identity: any FCMIdentity, _ fetcher: Fetcher) {
        self.identity = identity
        self.fetcher = fetcher
    }

    /// - Parameter now: seconds since 1970.
    package func run(now: Int) async -> Outcome { await identity.token(by: self, now: now) }

    /// The access token that one request brings; `expected`: a field that its answer must have.
    func token(
        _ url: FetchURL, _ method: FetchRequest.Method, _ fields: [FetchField],
        body: [UInt8]? = nil, expected: FetchField? = nil
    ) async -> Outcome {
        do throws(Outcome) {
            var answer = try await answer(url, method, fields, body: body, expected: expected)
            defer { answer.body.wipe() }
            return Self.outcome(
                status: answer.status, retryAfter: answer.retryAfter, body: answer.body.span)
        } catch { return error }
    }

    /// The document that another request brings; `refusal`: the fault by the status.
    func document(
        _ url: FetchURL, _ method: FetchRequest.Method, _ fields: [FetchField],
        body: [UInt8]? = nil, refusal: (Int) -> FCMFault
    ) async throws(Outcome) -> [UInt8] {
        let answer = try await answer(url, method, fields, body: body)
        switch answer.status {
        case 200: return answer.body
        case 408, 429, 500...599: throw .failed(retryAfter: answer.retryAfter ?? 0)
        default: throw .refused(refusal(answer.status))
        }
    }

    private func answer(
        _ url: FetchURL, _ method: FetchRequest.Method, _ fields: [FetchField], body: [UInt8]?,
        expected: FetchField? = nil
    ) async throws(Outcome) -> (status: Int, retryAfter: Int?, body: [UInt8]) {
        let request = FetchRequest(
            url, method: method, fields: fields, body: body, limit: Self.answerLimit,
            timeout: FetchTimeout(
                connect: .seconds(10), total: .seconds(30),
                throughput: .atLeast(bytesPerSecond: 1, over: .seconds(15))),
            purpose: .gateway, expected: expected)
        do throws(FetchError) {
            let (response, body) = try await fetcher.collect(request)
            return (response.status, response.retryAfter, body)
        } catch {
            // Waiting makes no other server of it.
            if expected != nil, case .protocolViolation = error { throw .refused(.metadataServer) }
            throw Self.outcome(of: error)
        }
    }

    static let formType = FetchField("Content-Type", "application/x-www-form-urlencoded")

    /// RFC 7523 §2.1, as a form; an assertion has nothing to escape.
    static func form(_ assertion: FCMAssertion) -> [UInt8] {
        let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        return assertion.text.withSpan { Array(grant.utf8) + $0.array }
    }

    /// The meaning of an answer (RFC 6749 §5.1 and §5.2).
    package static func outcome(status: Int, retryAfter: Int?, body: Span<UInt8>) -> Outcome {
        switch status {
        case 200:
            // Not understood: probably a proxy's answer.
            return FCMTokenResponse(body).map { .token($0.token, lifetime: $0.lifetime) }
                ?? .failed(retryAfter: 0)
        case 408, 429, 500...599: return .failed(retryAfter: retryAfter ?? 0)
        case 400, 401:
            let error = JSONScanner.text(of: "error", in: body.array)
            let isGrant = error?.elementsEqual("invalid_grant".utf8) == true
            return .refused(isGrant ? .grantRefused : .exchangeRefused(status: status))
        default: return .refused(.exchangeRefused(status: status))
        }
    }

    private static func outcome(of error: FetchError) -> Outcome {
        if case .tls = error { return .refused(.exchangeUntrusted) }
        return .failed(retryAfter: 0)
    }
}

/// A signed statement of identity, to be exchanged for an access token within an hour (RFC 7523
/// §2.1; Google, "Using OAuth 2.0 for server to server applications").
package struct FCMAssertion: Sendable, Redacted {
    package static let scope: StaticString =
        "https://www.googleapis.com/auth/firebase.messaging"
    /// Seconds from `iat` to `exp`: the most Google takes.
    package static let lifetime = 3600

    package let text: SecretBytes

    /// Signs one at `now`, seconds since 1970; nil when libcrypto refuses.
    package init?(_ credentials: FCMCredentials, now: Int) {
        let text = JSONWebToken.text(Self.signedPart(credentials, now: now)) {
            credentials.key.sign($0)
        }
        guard let text else { return nil }
        self.text = text
    }

    private static func signedPart(_ credentials: FCMCredentials, now: Int) -> [UInt8] {
        JSONWebToken.signedPart {
            $0.member("alg", string: "RS256" as StaticString)
            $0.member("typ", string: "JWT" as StaticString)
            if let id = credentials.privateKeyID { $0.member("kid", string: id) }
        } claims: {
            $0.member("iss", string: credentials.clientEmail)
            $0.member("scope", string: Self.scope)
            $0.member("aud", string: credentials.audience)
            $0.member("iat", number: now)
            $0.member("exp", number: now + Self.lifetime)
        }
    }
}

/// The answer to an exchange: `{"access_token":"ya29.…","expires_in":3599,"token_type":"Bearer"}`.
struct FCMTokenResponse {
    let token: SecretBytes
    let lifetime: Int

    init?(_ body: Span<UInt8>) {
        var token: [UInt8] = []
        defer { token.wipe() }
        var kind: [UInt8] = []
        // RFC 6749 §5.1: it may be absent; Google's usual one is an hour.
        var lifetime = FCMAssertion.lifetime
        let isRead: Void? = try? JSONScanner.readObject(body.array) {
            scanner, name throws(JSONError) in
            switch String(decoding: name, as: UTF8.self) {
            case "access_token": token = try scanner.string()
            case "token_type": kind = try scanner.string()
            case "expires_in": lifetime = try scanner.integer()
            default: try scanner.skip()
            }
        }
        // RFC 6749 §5.1: token_type in any case.
        guard isRead != nil, kind.span.equalsIgnoringCase("bearer"), Self.isToken(token),
            lifetime >= FCMTokenExchange.lifetimes.lowerBound
        else { return nil }
        self.token = SecretBytes(token)
        self.lifetime = min(lifetime, FCMTokenExchange.lifetimes.upperBound)
    }

    /// RFC 6750 §2.1: b64token.
    static func isToken(_ text: [UInt8]) -> Bool {
        (1...FCMTokenExchange.tokenLimit).contains(text.count)
            && text.allSatisfy { $0.isAlphanumeric || "-._~+/=".utf8.contains($0) }
    }
}
