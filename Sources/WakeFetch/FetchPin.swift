/// Where the connection of one request goes, whatever its URL's name resolves to: to addresses that
/// were checked before. The name of the URL remains what is asked for in TLS, in the certificate
/// and in the request, but is not looked up. This is what makes an answer that changes between
/// check and connection (DNS rebinding) useless.
package struct FetchPin: Sendable, Hashable {
    /// More are not tried.
    package static let maximumAddresses = 8

    /// At least one; tried in this order until one can be connected to.
    package let addresses: [IPAddress]
    package let port: UInt16

    package init(addresses: [IPAddress], port: UInt16) {
        precondition(!addresses.isEmpty, "a pin without address leads nowhere")
        precondition(port != 0, "port 0 is no port")
        self.addresses = addresses
        self.port = port
    }
}

extension FetchPin: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "FetchPin(redacted)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
