package import WakeModel
import WakeSystem

/// The one request of a round: the same for every wake-up but for the push token, without content.
package struct FCMRequest: Sendable {
    /// `ttl` at most: four weeks (firebase.google.com, AndroidConfig).
    package static let longestLifetime = 2_419_200

    private let endpoint: GatewayEndpoint
    private let projectID: String
    private let lifetime: Int

    /// - Parameter lifetime: seconds FCM keeps the wake-up for a device that is off.
    package init(_ endpoint: GatewayEndpoint, projectID: String, lifetime: Int) {
        precondition(lifetime > 0)
        self.endpoint = endpoint
        self.projectID = projectID
        self.lifetime = min(lifetime, Self.longestLifetime)
    }

    /// The engine's template (firebase.google.com, projects.messages.send): data only, so nothing
    /// is shown. FCM demotes HIGH without something to show; it keeps the last of a `collapse_key`.
    package func template(authorization: [UInt8]) -> RequestTemplate {
        let head =
            #"{"message":{"data":{"wake":"1"},"android":{"priority":"NORMAL","ttl":""#
            + #"\#(lifetime)s","collapse_key":"wake"},""#
        return RequestTemplate(
            scheme: endpoint.scheme, authority: endpoint.authority,
            path: "/v1/projects/\(projectID)/messages:send", tokenPlace: .body,
            fields: [.init("content-type", "application/json")],
            authorization: authorization, body: Array(head.utf8), bodyTail: Array(#""}}"#.utf8))
    }

    /// `Bearer` and the token (RFC 6750 §2.1).
    package static func authorization(_ token: SecretBytes) -> [UInt8] {
        token.withSpan { Array("Bearer ".utf8) + $0.array }
    }

    /// Appends the member that names the app, without its last quote: `fid` for a Firebase
    /// installation ID, `token` for a registration token (projects.messages); if retargeted, the
    /// other of the two. A push token is visible ASCII, which may hold quotes (RFC 8259 §7).
    package static func append(
        _ token: Span<UInt8>, isRetargeted: Bool = false, to text: inout [UInt8]
    ) {
        let isID = token.count == 22 && token.indices.allSatisfy { isBase64URL(token[$0]) }
        text.append(contentsOf: (isID != isRetargeted ? "fid\":\"" : "token\":\"").utf8)
        for index in token.indices {
            let byte = token[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                text.append(UInt8(ascii: "\\"))
            }
            text.append(byte)
        }
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
