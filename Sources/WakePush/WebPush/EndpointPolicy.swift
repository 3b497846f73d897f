import WakeFetch
import WakeModel

/// Where wake-ups may go, whatever was registered: the form of the endpoint, its host, and the
/// addresses of that. Asked when an endpoint is registered and again whenever one is sent to.
struct EndpointPolicy: Sendable {
    let rules: PushHostRules
    /// Addresses inside are taken although they are not global.
    let networks: [IPNetwork]
    /// Every connection goes there instead, and no name is looked up.
    let fixedAddresses: [IPAddress]?

    /// - Returns: the host in lower case; nil when nothing may be sent to this endpoint.
    func host(of token: PushToken) -> [UInt8]? {
        guard token.service == .webPush else { return nil }
        return token.bytes.withSpan { bytes in
            guard let endpoint = PushEndpoint(bytes) else { return nil }
            let host = bytes.extracting(endpoint.host)
            guard rules.admits(host), Self.url(bytes) != nil else { return nil }
            return PushHostRules.lowered(host)
        }
    }

    /// What is fetched: whatever passes as ``PushEndpoint`` is an address that can be.
    static func url(_ endpoint: Span<UInt8>) -> FetchURL? {
        do throws(FetchError) {
            return try FetchURL(endpoint.array)
        } catch {
            return nil
        }
    }

    /// Whether a host with these addresses may be connected to: all of them must be fit, or it
    /// would depend on which one is taken.
    func admits(_ addresses: [IPAddress]) -> Bool {
        !addresses.isEmpty
            && addresses.allSatisfy { address in
                address.isGlobal || networks.contains { $0.contains(address) }
            }
    }
}
