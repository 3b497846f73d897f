import WakeModel
import WakeSystem

/// The one request of a quarter of an hour: the same for every wake-up but for the push token,
/// without content.
package struct APNsRequest: Sendable {
    /// Apple, "Pushing background updates to your app": nothing but this.
    package static let body = #"{"aps":{"content-available":1}}"#
    /// The push token in lower-case hexadecimal follows.
    package static let path = "/3/device/"

    private let endpoint: GatewayEndpoint
    private let topic: String
    private let expiration: Int

    /// - Parameter lifetime: seconds APNs keeps the wake-up for a device that is off: about one
    ///   interval; without, such devices never get it. `now` is in seconds since 1970.
    package init(_ endpoint: GatewayEndpoint, topic: String, now: Int, lifetime: Int) {
        precondition(lifetime > 0)
        self.endpoint = endpoint
        self.topic = topic
        expiration = now + lifetime
    }

    /// The engine's template. `authorization` is a literal each time, as Apple advises.
    package func template(authorization: [UInt8]) -> RequestTemplate {
        RequestTemplate(
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

    package func template(_ token: ProviderToken) -> RequestTemplate {
        template(authorization: Self.authorization(token))
    }

    /// `bearer` and the token (RFC 6750 §2.1; Apple writes it in lower case).
    package static func authorization(_ token: ProviderToken) -> [UInt8] {
        token.text.withSpan { Array("bearer ".utf8) + $0.array }
    }
}
