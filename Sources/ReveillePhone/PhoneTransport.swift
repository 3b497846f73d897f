public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A request of the client: complete, and the same for every client but for what it has to say.
public struct PhoneRequest: Sendable {
    /// Requests of two purposes share no connection: they cannot be linked by it.
    public enum Purpose: Sendable, Hashable {
        /// Carries the instance token.
        case registration
        /// Heads and batches of the feed.
        case feed
    }

    /// The address.
    public let url: URL
    /// `GET`, `PUT` or `DELETE`.
    public let method: String
    /// Header fields, beside those that are the same for all.
    public let fields: [String: String]
    /// Sent with `PUT`.
    public let body: Data?
    /// What it is for.
    public let purpose: Purpose
    /// Bytes of an answer that are accepted; more are ``PhoneError/tooLarge``.
    public let limit: Int
    /// Seconds for the whole exchange; later it is ``PhoneError/network``.
    public let timeLimit: TimeInterval
}

/// An answer, of any status.
public struct PhoneResponse: Sendable {
    /// The HTTP status; that of a redirect is never followed.
    public let status: Int
    /// The body.
    public let body: Data
    /// The field `Retry-After`.
    public let retryAfter: String?
    /// The field `Date`.
    public let date: String?

    /// An answer of a transport of the app's own.
    public init(status: Int, body: Data, retryAfter: String? = nil, date: String? = nil) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.date = date
    }
}

/// A carrier of requests. ``URLSessionTransport`` is the one that clients have by themselves; an
/// app can bring another, such as one through a relay.
///
/// It follows no redirect, keeps no cookie and no cache, and adds to a request nothing that differs
/// between two devices: no language, no name of a device or a version.
public protocol PhoneTransport: Sendable {
    /// Sends a request and receives the whole answer. Ends early when its task is cancelled.
    /// - Throws: ``PhoneError/network``, ``PhoneError/tls``, ``PhoneError/tooLarge``,
    ///   ``PhoneError/truncated`` or ``PhoneError/cancelled``.
    func send(_ request: PhoneRequest) async throws(PhoneError) -> PhoneResponse

    /// Closes the connections of a purpose.
    func close(_ purpose: PhoneRequest.Purpose) async
}

/// The system's HTTP, without what makes a device known. One request of a purpose at a time.
public actor URLSessionTransport: PhoneTransport {
    private struct Line {
        let session: URLSession
        let events: AsyncStream<SessionEvents.Event>
    }

    private var lines: [PhoneRequest.Purpose: Line] = [:]

    /// A transport without connections.
    public init() {}

    /// The header fields of every request, the same for every client: those of the client for
    /// Linux, and a language and an encoding in the place of what the system would add.
    static let fields = [
        "User-Agent": "Reveille", "Accept": "*/*", "Accept-Language": "*",
        "Accept-Encoding": "identity",
    ]

    private static func configuration() -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        // Without a cache no request has conditions; another policy would add fields.
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = 1
        #if canImport(Darwin)
            configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
            configuration.waitsForConnectivity = false
        #endif
        return configuration
    }

    private func line(for purpose: PhoneRequest.Purpose) -> Line {
        if let line = lines[purpose] { return line }
        let (events, continuation) = AsyncStream<SessionEvents.Event>.makeStream()
        let session = URLSession(
            configuration: Self.configuration(), delegate: SessionEvents(continuation),
            delegateQueue: nil)
        let line = Line(session: session, events: events)
        lines[purpose] = line
        return line
    }

    /// See ``PhoneTransport/send(_:)``.
    public func send(_ request: PhoneRequest) async throws(PhoneError) -> PhoneResponse {
        guard !Task.isCancelled else { throw .cancelled }
        let line = line(for: request.purpose)
        var message = URLRequest(url: request.url, timeoutInterval: request.timeLimit)
        message.httpMethod = request.method
        message.httpShouldHandleCookies = false
        message.httpBody = request.body
        for (name, value) in request.fields.merging(Self.fields, uniquingKeysWith: { $1 }) {
            message.setValue(value, forHTTPHeaderField: name)
        }
        let task = line.session.dataTask(with: message)
        let clock = Task {
            try await Task.sleep(nanoseconds: UInt64(max(0, request.timeLimit) * 1_000_000_000))
            task.cancel()
        }
        defer { clock.cancel() }
        let end = await withTaskCancellationHandler {
            task.resume()
            return await Self.collect(task, line.events, limit: request.limit)
        } onCancel: {
            task.cancel()
        }
        guard !Task.isCancelled else { throw .cancelled }
        return try end.get()
    }

    private static func collect(
        _ task: URLSessionDataTask, _ events: AsyncStream<SessionEvents.Event>, limit: Int
    ) async -> Result<PhoneResponse, PhoneError> {
        var body = Data()
        for await event in events where event.task == task.taskIdentifier {
            switch event.news {
            case .data(let data):
                body += data
                let announced = task.response?.expectedContentLength ?? 0
                guard body.count <= limit, announced <= Int64(limit) else {
                    task.cancel()
                    return .failure(.tooLarge)
                }
            case .end(let failure?): return .failure(failure)
            case .end(nil):
                guard let response = task.response as? HTTPURLResponse else {
                    return .failure(.network)
                }
                // The system takes some answers that broke off for whole ones.
                let announced = response.expectedContentLength
                guard announced < 0 || announced <= Int64(body.count) else {
                    return .failure(announced > Int64(limit) ? .tooLarge : .truncated)
                }
                return .success(
                    PhoneResponse(
                        status: response.statusCode, body: body,
                        retryAfter: response.value(forHTTPHeaderField: "Retry-After"),
                        date: response.value(forHTTPHeaderField: "Date")))
            }
        }
        return .failure(.network)
    }

    /// See ``PhoneTransport/close(_:)``.
    public func close(_ purpose: PhoneRequest.Purpose) {
        lines.removeValue(forKey: purpose)?.session.invalidateAndCancel()
    }
}

/// Hands on what a session says.
private final class SessionEvents: NSObject, URLSessionDataDelegate, Sendable {
    struct Event: Sendable {
        enum News: Sendable {
            case data(Data)
            /// nil: the answer is whole, as far as the system knows.
            case end(PhoneError?)
        }

        let task: Int
        let news: News
    }

    private let events: AsyncStream<Event>.Continuation

    init(_ events: AsyncStream<Event>.Continuation) { self.events = events }

    func urlSession(_: URLSession, dataTask task: URLSessionDataTask, didReceive data: Data) {
        events.yield(Event(task: task.taskIdentifier, news: .data(data)))
    }

    func urlSession(
        _: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        events.yield(Event(task: task.taskIdentifier, news: .end(error.map(Self.fault))))
    }

    func urlSession(_: URLSession, didBecomeInvalidWithError _: (any Error)?) { events.finish() }

    /// A redirect is an answer like any other.
    func urlSession(
        _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse,
        newRequest _: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// No name and no certificate of this device is shown to a server or a proxy that asks.
    func urlSession(
        _: URLSession, task _: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler:
            @escaping @Sendable (
                URLSession.AuthChallengeDisposition, URLCredential?
            ) -> Void
    ) {
        let isServer = challenge.protectionSpace.authenticationMethod == serverTrust
        completionHandler(isServer ? .performDefaultHandling : .rejectProtectionSpace, nil)
    }

    private static func fault(_ error: any Error) -> PhoneError {
        switch (error as? URLError)?.code {
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
            .clientCertificateRejected, .clientCertificateRequired:
            .tls
        default: .network
        }
    }
}

#if canImport(Darwin)
    private let serverTrust = NSURLAuthenticationMethodServerTrust
#else
    private let serverTrust = "NSURLAuthenticationMethodServerTrust"
#endif
