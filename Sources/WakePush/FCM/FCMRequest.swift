package import WakeModel

/// The one request of a round: constant but for the push token. Nothing in it is content, and
/// nothing in it tells one wake-up from another.
package struct FCMRequest: Sendable {
    /// `ttl` at most: four weeks (firebase.google.com, AndroidConfig).
    package static let longestLifetime = 2_419_200

    private let endpoint: GatewayEndpoint
    private let projectID: String
    private let lifetime: Int

    /// - Parameter lifetime: seconds FCM keeps the wake-up for a device that is off: about one
    ///   interval, so that the next one follows where this one ends.
    package init(_ endpoint: GatewayEndpoint, projectID: String, lifetime: Int) {
        precondition(lifetime > 0)
        self.endpoint = endpoint
        self.projectID = projectID
        self.lifetime = min(lifetime, Self.longestLifetime)
    }

    /// What the engine sends (firebase.google.com, projects.messages.send): data only, so that the
    /// app is woken and nothing is shown. NORMAL: HIGH without something to show is put back by
    /// FCM after a while. One `collapse_key`: a device that was off gets the last one only.
    /// - Parameter authorization: as ``authorization(_:)`` makes it.
    package func shape(authorization: [UInt8]) -> RequestShape {
        let head =
            #"{"message":{"data":{"wake":"1"},"android":{"priority":"NORMAL","ttl":""#
            + #"\#(lifetime)s","collapse_key":"wake"},"token":""#
        return RequestShape(
            scheme: endpoint.scheme, authority: endpoint.authority,
            path: "/v1/projects/\(projectID)/messages:send", tokenPlace: .body,
            fields: [.init("content-type", "application/json")],
            authorization: authorization, body: Array(head.utf8), bodyTail: Array(#""}}"#.utf8))
    }

    /// `Bearer` and the token (RFC 6750 §2.1).
    package static func authorization(_ token: SecretBytes) -> [UInt8] {
        token.withSpan { Array("Bearer ".utf8) + $0.array }
    }

    /// A push token as it stands within a JSON string. It is visible ASCII whoever registered it:
    /// a quotation mark in it must not end the string (RFC 8259 §7).
    package static func escaped(_ token: Span<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(token.count)
        for index in token.indices {
            let byte = token[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                text.append(UInt8(ascii: "\\"))
            }
            text.append(byte)
        }
        return text
    }
}
