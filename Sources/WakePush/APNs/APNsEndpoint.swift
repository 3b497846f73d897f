package import WakeModel

/// Where APNs is.
package struct APNsEndpoint: Sendable, Hashable {
    /// A name, for DNS, TLS and `:authority`.
    package var host: String
    package var port: UInt16
    /// Authorities to trust instead of the system's, PEM; nil outside of tests.
    package var authorityFile: String?
    /// HTTP/2 without TLS: behind a proxy on this machine that adds it, and in tests.
    package var isPlain = false

    /// The environment is part of what was sealed with the push token: they cannot mix.
    /// - Returns: nil for push tokens that are not of APNs.
    package init?(_ service: PushService) {
        switch service {
        case .apns: host = "api.push.apple.com"
        case .apnsSandbox: host = "api.sandbox.push.apple.com"
        case .fcm, .webPush: return nil
        }
        port = 443
    }

    /// `:authority` (RFC 9113 §8.3.1): without the port that goes without saying.
    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isPlain ? 80 : 443) ? name : "\(name):\(port)"
    }
}

extension APNsEndpoint {
    /// How the engine reaches it.
    package func engine(_ shape: RequestShape) -> EngineConfiguration {
        EngineConfiguration(
            host: host, port: port,
            transport: isPlain ? .plain : .tls(authorityFile: authorityFile), shape: shape)
    }
}
