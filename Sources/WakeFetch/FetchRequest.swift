/// One HTTPS request, complete: nothing is added to it later but constants that are the same for
/// every client.
package struct FetchRequest: Sendable {
    /// The request method.
    package enum Method: Sendable, Hashable {
        case get, put, post, delete
    }

    package var url: FetchURL
    package var method: Method
    /// Sent in this order after the constant fields. Not named: `Host`, `Content-Length`, `Range`
    /// and others that the fetcher owns, see ``FetchField``.
    package var fields: [FetchField]
    /// Sent with `put`, `post` and `delete`; the caller names its `Content-Type` in `fields`.
    package var body: [UInt8]?
    /// N asks for `Range: bytes=N-`. A 206 that starts elsewhere is refused.
    package var range: UInt64?
    /// Bytes of body that are accepted from a 2xx. One more and the fetch ends as `tooLarge`; a
    /// larger `Content-Length` ends it before the first byte is kept.
    package var limit: Int
    package var timeout: FetchTimeout
    package var purpose: FetchPurpose
    /// Where to connect to; nil looks the URL's name up. Not together with a proxy.
    package var pin: FetchPin?
    /// Over TLS, HTTP/2 is offered besides HTTP/1.1, and requests that run at once share a
    /// connection. HTTP/1.1 only where libcurl has no HTTP/2.
    package var allowsHTTP2: Bool

    package init(
        _ url: FetchURL, method: Method = .get, fields: [FetchField] = [], body: [UInt8]? = nil,
        range: UInt64? = nil, limit: Int, timeout: FetchTimeout = .standard,
        purpose: FetchPurpose, pin: FetchPin? = nil, allowsHTTP2: Bool = false
    ) {
        precondition(limit >= 0, "a limit is a number of bytes")
        precondition(body == nil || method != .get, "a GET has no body")
        self.url = url
        self.method = method
        self.fields = fields
        self.body = body
        self.range = range
        self.limit = limit
        self.timeout = timeout
        self.purpose = purpose
        self.pin = pin
        self.allowsHTTP2 = allowsHTTP2
    }
}

extension FetchRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "FetchRequest(redacted)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
