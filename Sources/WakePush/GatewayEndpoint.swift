/// Where a push service is that the engine talks to.
package struct GatewayEndpoint: Sendable, Hashable {
    /// A name, for DNS, TLS and `:authority`.
    package var host: String
    package var port: UInt16 = 443
    /// Authorities to trust instead of the system's, PEM; nil outside of tests.
    package var authorityFile: String?
    /// HTTP/2 without TLS: behind a proxy on this machine that adds it, and in tests.
    package var isPlain = false

    package init(host: String) {
        self.host = host
    }

    /// `host` and its port, unless the configuration says otherwise.
    package init(host: String, _ reach: GatewayReach) {
        self.host = reach.host ?? host
        port = reach.port ?? 443
        authorityFile = reach.authorityFile
        isPlain = reach.isPlain
    }

    /// RFC 9113 §8.3.1
    package var scheme: String { isPlain ? "http" : "https" }

    /// `:authority` (RFC 9113 §8.3.1): without the port that goes without saying.
    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isPlain ? 80 : 443) ? name : "\(name):\(port)"
    }

    /// How the engine reaches it.
    package func engine(_ shape: RequestShape, connections: Int = 1) -> EngineConfiguration {
        var configuration = EngineConfiguration(
            host: host, port: port,
            transport: isPlain ? .plain : .tls(authorityFile: authorityFile), shape: shape)
        configuration.connections = connections
        return configuration
    }
}
