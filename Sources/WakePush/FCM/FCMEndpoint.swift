/// Where FCM is.
package struct FCMEndpoint: Sendable, Hashable {
    /// A name, for DNS, TLS and `:authority`.
    package var host = "fcm.googleapis.com"
    package var port: UInt16 = 443
    /// Authorities to trust instead of the system's, PEM; nil outside of tests.
    package var authorityFile: String?
    /// HTTP/2 without TLS: behind a proxy on this machine that adds it, and in tests.
    package var isPlain = false

    package init() {}

    /// `:authority` (RFC 9113 §8.3.1): without the port that goes without saying.
    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isPlain ? 80 : 443) ? name : "\(name):\(port)"
    }

    /// How the engine reaches it.
    package func engine(_ shape: RequestShape) -> EngineConfiguration {
        EngineConfiguration(
            host: host, port: port,
            transport: isPlain ? .plain : .tls(authorityFile: authorityFile), shape: shape)
    }
}
