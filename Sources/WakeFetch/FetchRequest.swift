import WakeSystem

/// A complete HTTPS request: only constants that are the same for every client are added to it.
package struct FetchRequest: Sendable, Redacted {
    package enum Method: String, Sendable, Hashable {
        case get = "GET", put = "PUT", post = "POST", delete = "DELETE"
    }

    package var url: FetchURL
    package var method: Method
    /// Sent in this order after the constant fields; see ``FetchField`` for the names allowed.
    package var fields: [FetchField]
    /// Sent with `put`, `post` and `delete`; its `Content-Type` is in `fields`.
    package var body: [UInt8]?
    /// N asks for `Range: bytes=N-`. A 206 that starts elsewhere is refused.
    package var range: UInt64?
    /// With `range`, the last byte to ask for: `Range: bytes=N-M`.
    package var rangeEnd: UInt64?
    /// Bytes of body accepted from a 2xx; more, received or announced, end the fetch as `tooLarge`.
    package var limit: Int
    package var timeout: FetchTimeout
    package var purpose: FetchPurpose
    /// The only addresses to connect to; nil looks the URL's name up. Not with a proxy.
    package var pin: PinnedAddresses?
    /// The path of a Unix socket to connect to instead of the URL's host. Not with a proxy.
    package var socket: String?
    /// Offers HTTP/2 over TLS, if libcurl has it: simultaneous requests then share a connection.
    package var allowsHTTP2: Bool
    /// A field that the answer must have, with this value: else it is a `protocolViolation`.
    package var expected: FetchField?
    /// After the first bytes of the body, fewer than these may wait for more: a fetch that has the
    /// thread of its purpose to itself then wakes for few of the comments that keep a stream open.
    package var leastBytes: Int32?

    package init(
        _ url: FetchURL, method: Method = .get, fields: [FetchField] = [], body: [UInt8]? = nil,
        range: UInt64? = nil, rangeEnd: UInt64? = nil, limit: Int,
        timeout: FetchTimeout = .standard, purpose: FetchPurpose,
        pin: PinnedAddresses? = nil, socket: String? = nil, allowsHTTP2: Bool = false,
        expected: FetchField? = nil
    ) {
        precondition(limit >= 0, "a limit is a number of bytes")
        precondition(rangeEnd == nil || range.map { $0 <= rangeEnd ?? 0 } == true)
        precondition(body == nil || method != .get, "a GET has no body")
        self.url = url
        self.method = method
        self.fields = fields
        self.body = body
        self.range = range
        self.rangeEnd = rangeEnd
        self.limit = limit
        self.timeout = timeout
        self.purpose = purpose
        self.pin = pin
        self.socket = socket
        self.allowsHTTP2 = allowsHTTP2
        self.expected = expected
    }
}

/// The purpose of a request. Purposes share no thread, connection, DNS cache, TLS state or proxy
/// circuit: nobody can link them, and a sink of one cannot block another.
package enum FetchPurpose: UInt8, Sendable, Hashable, CaseIterable {
    /// Requests that carry an instance token.
    case registration
    /// Heads and batches of a feed.
    case feed
    /// The anonymous event stream of wake-ups.
    case stream
    /// A service's requests to push services beside wake-ups, such as for an access token.
    case gateway

    /// The user name for a SOCKS proxy: another user, another circuit (tor(1), IsolateSOCKSAuth).
    var proxyUser: StaticString {
        switch self {
        case .registration: "registration"
        case .feed: "feed"
        case .stream: "stream"
        case .gateway: "gateway"
        }
    }
}

/// The time limits of a fetch.
package struct FetchTimeout: Sendable, Hashable {
    /// The least throughput of a connection, without the time in which sinks of the purpose run.
    package enum Throughput: Sendable, Hashable {
        /// An average rate over each window: a stall is detected after one to two windows.
        case atLeast(bytesPerSecond: Int, over: Duration)
        /// Any byte within this time: for event streams, silent between their keep-alives.
        case idle(Duration)

        var isIdle: Bool { if case .idle = self { true } else { false } }
    }

    /// Name resolution, TCP, proxy and TLS together.
    package var connect: Duration
    /// The whole fetch; nil for streams.
    package var total: Duration?
    package var throughput: Throughput

    package init(connect: Duration, total: Duration?, throughput: Throughput) {
        precondition(connect >= .milliseconds(1), "libcurl takes 0 for its own default")
        precondition(total ?? .seconds(1) >= .milliseconds(1), "libcurl takes 0 for never")
        self.connect = connect
        self.total = total
        self.throughput = throughput
    }

    /// For answers of known, modest size, over slow networks and Tor circuits as well.
    package static let standard = FetchTimeout(
        connect: .seconds(30), total: .seconds(600),
        throughput: .atLeast(bytesPerSecond: 128, over: .seconds(30)))

    /// For event streams: no end, but a byte within `idle`.
    package static func stream(idle: Duration) -> FetchTimeout {
        FetchTimeout(connect: .seconds(30), total: nil, throughput: .idle(idle))
    }
}

/// The checked addresses a request connects to. The URL's name is not looked up, so that an answer
/// that changes between check and connection (DNS rebinding) has no effect.
package struct PinnedAddresses: Sendable, Hashable, Redacted {
    /// More are not tried.
    package static let maximumAddresses = 8

    /// At least one; tried in this order until a connection succeeds.
    package let addresses: [IPAddress]
    package let port: UInt16

    package init(addresses: [IPAddress], port: UInt16) {
        precondition(!addresses.isEmpty, "a pin without address leads nowhere")
        precondition(port != 0, "port 0 is no port")
        self.addresses = addresses
        self.port = port
    }
}

/// One field of a request head. The value may be a secret: the copies made for libcurl are wiped at
/// the end of the transfer (not its own send buffer), and descriptions are redacted.
package struct FetchField: Sendable, Redacted {
    package let name: String
    package let value: [UInt8]

    /// A field. `name` is a token that the fetcher does not own (precondition); `value` is visible
    /// ASCII, space and tab, not empty, else the fetch ends as `invalidField`.
    package init(_ name: StaticString, _ value: [UInt8]) {
        precondition(Self.isAllowed(name.description), "not a field for a caller to set")
        self.name = name.description
        self.value = value
    }

    /// A field that a file names; nil for a name that is not allowed, or a value that is none.
    package init?(named name: String, _ value: [UInt8]) {
        guard Self.isAllowed(name) else { return nil }
        self.name = name
        self.value = value
        guard isValid else { return nil }
    }

    package init(_ name: StaticString, _ value: StaticString) { self.init(name, value.bytes) }

    /// RFC 9110 §5.5, without obs-text. libcurl drops a field with an empty value
    /// (CURLOPT_HTTPHEADER(3)); white space at the ends is not part of a value.
    var isValid: Bool {
        guard let first = value.first, let last = value.last else { return false }
        guard (0x21...0x7E).contains(first), (0x21...0x7E).contains(last) else { return false }
        return value.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
    }

    /// `Name: value` and the zero byte that ends a C string.
    func line() -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(name.utf8.count + value.count + 3)
        line += name.utf8
        line.append(text: ": ")
        line += value
        line.append(0)
        return line
    }

    /// In lower case. They decide framing, routing and linkability.
    private static let owned: Set<String> = [
        "accept", "accept-encoding", "connection", "content-length", "cookie", "expect", "host",
        "keep-alive", "proxy-authorization", "proxy-connection", "range", "referer", "te",
        "trailer", "transfer-encoding", "upgrade", "user-agent",
    ]

    /// RFC 9110 §5.6.2: of token, only letters, digits and `-`.
    private static func isAllowed(_ name: String) -> Bool {
        let isToken = name.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") }
        return !name.isEmpty && isToken && !owned.contains(name.lowercased())
    }
}

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
    /// The body is compressed, though nothing of the kind was offered (RFC 9110 §12.5.3).
    package let isEncoded: Bool

    package init(
        status: Int, contentLength: UInt64? = nil, contentRangeStart: UInt64? = nil,
        contentRangeTotal: UInt64? = nil, retryAfter: Int? = nil,
        contentType: FetchContentType? = nil, date: Int64? = nil, isEncoded: Bool = false
    ) {
        self.status = status
        self.contentLength = contentLength
        self.contentRangeStart = contentRangeStart
        self.contentRangeTotal = contentRangeTotal
        self.retryAfter = retryAfter
        self.contentType = contentType
        self.date = date
        self.isEncoded = isEncoded
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
    case obliviousResponse = "message/ohttp-res"
    case obliviousKeys = "application/ohttp-keys"
    case other = ""
}

/// The answer of a callback: whether the fetch goes on.
package enum FetchVerdict: Sendable, Hashable { case proceed, stop }
