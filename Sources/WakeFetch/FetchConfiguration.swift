import WakeSystem

/// The settings of one ``Fetcher``; those of the environment are ignored.
package struct FetchConfiguration: Sendable {
    /// The same for every client and version.
    package static let userAgent: StaticString = "Reveille"

    /// The proxy of all fetches; nil connects directly.
    package var proxy: FetchProxy?
    /// Path of a PEM file with the only authorities to trust; nil trusts the system's.
    package var caFile: String?
    /// Whether `http://` is allowed for `localhost`, 127.0.0.0/8 and `[::1]`.
    package var allowLoopbackHTTP: Bool
    /// Time until idle connections are closed and the purpose's thread ends, counted from the begin
    /// of the last request where that was shorter, see ``FetchLoop``.
    package var idleTime: Duration
    /// Simultaneous requests of one purpose; more wait.
    package var maximumConnections: Int
    /// Simultaneous requests of one purpose to one host and port; more wait, others do not.
    package var connectionsPerHost: Int
    /// Idle connections of one purpose kept for the next request.
    package var idleConnections: Int
    /// File name of libcurl, for tests; nil is `libcurl.so.4`.
    package var libraryName: String?

    package init(
        proxy: FetchProxy? = nil, caFile: String? = nil, allowLoopbackHTTP: Bool = true,
        idleTime: Duration = .seconds(10), maximumConnections: Int = 256,
        connectionsPerHost: Int = 256, idleConnections: Int = 8, libraryName: String? = nil
    ) {
        precondition(maximumConnections > 0 && connectionsPerHost > 0 && idleConnections > 0)
        self.proxy = proxy
        self.caFile = caFile
        self.allowLoopbackHTTP = allowLoopbackHTTP
        self.idleTime = idleTime
        self.maximumConnections = maximumConnections
        self.connectionsPerHost = connectionsPerHost
        self.idleConnections = idleConnections
        self.libraryName = libraryName
    }
}

/// A SOCKS5 proxy that also resolves the names (socks5h), such as Tor.
package struct FetchProxy: Sendable, Redacted {
    /// A host name or an address, IPv6 in brackets.
    package var host: String
    package var port: UInt16
    /// The password for the proxy, with the purpose as user name: Tor builds a circuit per pair.
    /// A random value for each profile keeps profiles apart; nil sends neither and shares circuits.
    package var isolation: [UInt8]?

    /// nil unless host and port name a proxy and `isolation` is visible ASCII (RFC 1929 §2).
    package init?(host: String, port: UInt16, isolation: [UInt8]?) {
        guard port != 0, FetchURL.reach(of: Array(host.utf8)[...]) != nil else { return nil }
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

/// The configuration of a fetcher and its loaded libcurl.
struct FetchSettings: Sendable {
    let curl: Curl
    let configuration: FetchConfiguration

    /// - Throws: `libraryMissing`.
    init(_ configuration: FetchConfiguration) throws(FetchError) {
        self.configuration = configuration
        curl = try Curl(named: configuration.libraryName)
    }

    /// Refuses a request that breaks the configuration, before a thread is started for it.
    func check(_ request: FetchRequest) throws(FetchError) {
        let url = request.url
        if url.scheme == .http, url.reach == .loopback, !configuration.allowLoopbackHTTP {
            throw .invalidURL
        }
        if url.reach == .onion, configuration.proxy == nil { throw .onionWithoutProxy }
        // A proxy may connect anywhere.
        if request.pin != nil || request.socket != nil, configuration.proxy != nil {
            throw .addressRefused
        }
        guard request.fields.allSatisfy(\.isValid) else { throw .invalidField }
    }
}
