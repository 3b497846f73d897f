/// The part of a response head that is kept. Everything else is read, counted and dropped.
package struct FetchResponse: Sendable, Hashable {
    /// 200...599; redirects are not followed, a 3xx is just a status.
    package let status: Int
    /// Bytes of body announced; nil when the body is chunked or ends with the connection.
    package let contentLength: UInt64?
    /// First byte of a 206's `Content-Range`.
    package let contentRangeStart: UInt64?
    /// Bytes of the whole that a 206 is a part of; nil when unknown.
    package let contentRangeTotal: UInt64?
    /// Seconds to wait; a date is taken relative to the response's own `Date`, if it has one.
    package let retryAfter: Int?
    package let contentType: FetchContentType?
    /// The server's clock, seconds since 1970.
    package let date: Int64?

    package init(
        status: Int, contentLength: UInt64? = nil, contentRangeStart: UInt64? = nil,
        contentRangeTotal: UInt64? = nil, retryAfter: Int? = nil,
        contentType: FetchContentType? = nil, date: Int64? = nil
    ) {
        self.status = status
        self.contentLength = contentLength
        self.contentRangeStart = contentRangeStart
        self.contentRangeTotal = contentRangeTotal
        self.retryAfter = retryAfter
        self.contentType = contentType
        self.date = date
    }

    package var isSuccess: Bool { (200...299).contains(status) }
}

/// The media types that are distinguished, as registered with IANA.
package enum FetchContentType: String, Sendable, Hashable {
    case octetStream = "application/octet-stream"
    case json = "application/json"
    case problem = "application/problem+json"
    case eventStream = "text/event-stream"
    case html = "text/html"
    case text = "text/plain"
    case other = ""
}

/// The answer of a callback: whether the fetch goes on.
package enum FetchVerdict: Sendable, Hashable { case proceed, stop }
