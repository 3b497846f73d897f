package import WakeFetch
package import WakeModel

/// One exchange of an assertion for an access token (RFC 7523 §2.1).
package struct FCMTokenExchange: Sendable {
    /// What came of it.
    package enum Outcome: Sendable, Equatable {
        /// - `lifetime`: seconds.
        case token(SecretBytes, lifetime: Int)
        case refused(FCMFault)
        /// May pass by itself.
        /// - `retryAfter`: seconds the far end asked to wait, 0 when it did not.
        case failed(retryAfter: Int)
    }

    private let credentials: FCMCredentials
    private let fetcher: Fetcher

    /// Bytes of an answer at most: a token has about a thousand.
    private static let answerLimit = 16_384
    /// Bytes of a token at most: it goes into one frame with all other fields.
    static let tokenLimit = 4096
    /// Seconds a token may be good for: shorter ones are of no use, longer ones are cut.
    static let lifetimes = 60...86_400

    package init(_ credentials: FCMCredentials, _ fetcher: Fetcher) {
        self.credentials = credentials
        self.fetcher = fetcher
    }

    /// - Parameter now: seconds since 1970.
    package func run(now: Int) async -> Outcome {
        guard let assertion = FCMAssertion(credentials, now: now) else {
            return .refused(.cannotSign)
        }
        do throws(FetchError) {
            let (response, body) = try await fetcher.collect(request(assertion))
            var answer = body
            defer { wipe(&answer) }
            return Self.outcome(
                status: response.status, retryAfter: response.retryAfter, body: answer.span)
        } catch {
            return Self.outcome(of: error)
        }
    }

    private func request(_ assertion: FCMAssertion) -> FetchRequest {
        FetchRequest(
            credentials.tokenURL, method: .post,
            fields: [FetchField("Content-Type", "application/x-www-form-urlencoded")],
            body: Self.form(assertion), limit: Self.answerLimit,
            timeout: FetchTimeout(
                connect: .seconds(10), total: .seconds(30),
                pace: .atLeast(bytesPerSecond: 1, over: .seconds(15))),
            purpose: .gateway)
    }

    /// RFC 7523 §2.1, as a form: the colons of the grant type are escaped, an assertion has nothing
    /// to escape.
    static func form(_ assertion: FCMAssertion) -> [UInt8] {
        let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        return assertion.text.withSpan { Array(grant.utf8) + $0.array }
    }

    // MARK: Answers

    /// What an answer means (RFC 6749 §5.1 and §5.2).
    package static func outcome(
        status: Int, retryAfter: Int?, body: Span<UInt8>
    ) -> Outcome {
        switch status {
        case 200:
            // Not understood: most likely something on the way that answers for others.
            return FCMTokenAnswer(body).map { .token($0.token, lifetime: $0.lifetime) }
                ?? .failed(retryAfter: 0)
        case 408, 429, 500...599: return .failed(retryAfter: retryAfter ?? 0)
        case 400, 401:
            let isGrant = FCMTokenAnswer.error(in: body).map {
                $0.elementsEqual("invalid_grant".utf8)
            }
            return .refused(isGrant == true ? .grantRefused : .exchangeRefused(status: status))
        default: return .refused(.exchangeRefused(status: status))
        }
    }

    private static func outcome(of error: FetchError) -> Outcome {
        switch error {
        case .tls: .refused(.exchangeUntrusted)
        case .libraryMissing, .invalidURL, .onionWithoutProxy, .invalidField, .addressRefused,
            .network, .timeout, .tooLarge, .truncated, .stopped, .cancelled, .closed,
            .outOfResources, .protocolViolation:
            .failed(retryAfter: 0)
        }
    }
}
