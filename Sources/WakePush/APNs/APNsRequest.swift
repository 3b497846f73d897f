private import WakeModel

/// The one request of a round: constant but for the push token. Nothing in it is content, and
/// nothing in it tells one wake-up from another.
package struct APNsRequest: Sendable {
    /// Apple, "Pushing background updates to your app": nothing but this.
    package static let body = #"{"aps":{"content-available":1}}"#
    /// The push token in lower-case hexadecimal follows.
    package static let path = "/3/device/"

    private let endpoint: GatewayEndpoint
    private let topic: String
    private let expiration: Int

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - lifetime: seconds APNs keeps the wake-up for a device that is off: about one interval,
    ///     so that the next one follows where this one ends. Without, such devices never get it.
    package init(_ endpoint: GatewayEndpoint, topic: String, now: Int, lifetime: Int) {
        precondition(lifetime > 0)
        self.endpoint = endpoint
        self.topic = topic
        expiration = now + lifetime
    }

    /// What the engine sends. `authorization` is a literal each time, as Apple advises.
    /// - Parameter authorization: as ``authorization(_:)`` makes it.
    package func shape(authorization: [UInt8]) -> RequestShape {
        RequestShape(
            scheme: endpoint.scheme, authority: endpoint.authority,
            path: Self.path, tokenPlace: .path,
            fields: [
                .init("apns-topic", topic),
                .init("apns-push-type", "background"),
                // Apple: 5 is the only priority allowed to background wake-ups.
                .init("apns-priority", "5"),
                .init("apns-expiration", String(expiration)),
                .init("content-length", String(Self.body.utf8.count)),
            ],
            authorization: authorization, body: Array(Self.body.utf8))
    }

    package func shape(_ token: ProviderToken) -> RequestShape {
        shape(authorization: Self.authorization(token))
    }

    /// `bearer` and the token (RFC 6750 §2.1; Apple writes it in lower case).
    package static func authorization(_ token: ProviderToken) -> [UInt8] {
        token.text.withSpan { text in
            var value = Array("bearer ".utf8)
            value.reserveCapacity(value.count + text.count)
            for index in text.indices { value.append(text[index]) }
            return value
        }
    }
}
