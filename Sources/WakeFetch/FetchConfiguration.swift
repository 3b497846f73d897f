/// What holds for all fetches of one ``Fetcher``. Proxy, `.netrc` and certificate settings in the
/// environment are ignored: only what is said here counts.
package struct FetchConfiguration: Sendable {
    /// Sent by every client of every version, so that it tells nothing.
    package static let userAgent: StaticString = "Reveille"

    /// All fetches go through it, none around it; nil connects directly.
    package var proxy: FetchProxy?
    /// Path of a PEM file with the only authorities to trust; nil trusts the system's.
    package var caFile: String?
    /// Whether `http://` is allowed for `localhost`, 127.0.0.0/8 and `[::1]`.
    package var allowLoopbackHTTP: Bool
    /// Connections are kept this long for the next fetch of the same purpose; then they are closed
    /// and the purpose's thread ends. A cycle's fetches follow each other closely, cycles do not.
    package var linger: Duration
    /// Requests of one purpose that run at once, hence the most connections it has; more wait.
    package var maximumConnections: Int
    /// Requests of one purpose to one host and port that run at once, hence the most connections
    /// there; more wait, and hold up no other host. Over HTTP/2 they share connections.
    package var connectionsPerHost: Int
    /// Idle connections of one purpose that are kept for the next request.
    package var idleConnections: Int
    /// File name of libcurl, for tests; nil is `libcurl.so.4`.
    package var libraryName: String?

    package init(
        proxy: FetchProxy? = nil, caFile: String? = nil, allowLoopbackHTTP: Bool = true,
        linger: Duration = .seconds(10), maximumConnections: Int = 256,
        connectionsPerHost: Int = 256, idleConnections: Int = 8, libraryName: String? = nil
    ) {
        precondition(maximumConnections > 0 && connectionsPerHost > 0 && idleConnections > 0)
        self.proxy = proxy
        self.caFile = caFile
        self.allowLoopbackHTTP = allowLoopbackHTTP
        self.linger = linger
        self.maximumConnections = maximumConnections
        self.connectionsPerHost = connectionsPerHost
        self.idleConnections = idleConnections
        self.libraryName = libraryName
    }
}

/// A SOCKS5 proxy that also resolves the names (socks5h), such as Tor.
package struct FetchProxy: Sendable {
    /// A host name or an address, IPv6 in brackets.
    package var host: String
    package var port: UInt16
    /// The password shown to the proxy, with the purpose as user name: Tor builds a circuit of its
    /// own for each pair. A random value for each profile keeps profiles apart; nil shows neither
    /// name nor password and lets all purposes share circuits.
    package var isolation: [UInt8]?

    /// nil unless host and port name a proxy, and `isolation` is 1 to 255 visible ASCII bytes
    /// (RFC 1929 §2).
    package init?(host: String, port: UInt16, isolation: [UInt8]?) {
        guard port != 0, FetchURL.isHost(Array(host.utf8)) else { return nil }
        if let isolation {
            guard (1...255).contains(isolation.count),
                isolation.allSatisfy({ (0x21...0x7E).contains($0) })
            else { return nil }
        }
        self.host = host
        self.port = port
        self.isolation = isolation
    }
}

extension FetchProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "FetchProxy(redacted)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
