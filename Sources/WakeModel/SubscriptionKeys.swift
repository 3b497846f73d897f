import WakeSystem

/// The keys of a Web Push subscription (Push API, `PushSubscription.toJSON()`), with which a
/// message is encrypted for the app alone (RFC 8291).
package struct SubscriptionKeys: Sendable, Equatable, Redacted {
    /// The app's public key: an uncompressed point of P-256, 65 bytes; perhaps not on the curve.
    package let point: SecretBytes
    /// The secret between app and sender, 16 bytes (RFC 8291 §3.2).
    package let secret: SecretBytes

    package static let pointBytes = 65
    package static let secretBytes = 16
    /// Bytes that they add to a push token: a zero, which no endpoint has, and both.
    package static let suffixBytes = 1 + pointBytes + secretBytes

    /// Reads base64url without padding (RFC 4648 §5), as browsers give it.
    package init(p256dh: Span<UInt8>, auth: Span<UInt8>) throws(PushTokenError) {
        guard var point = Base64URL.decode(p256dh), var secret = Base64URL.decode(auth) else {
            throw .malformed
        }
        defer {
            point.wipe()
            secret.wipe()
        }
        guard point.count == Self.pointBytes, point[0] == 4, secret.count == Self.secretBytes else {
            throw .malformed
        }
        self.point = SecretBytes(point)
        self.secret = SecretBytes(secret)
    }

    /// The keys after the endpoint in the bytes of a push token; nil when there are none.
    init?(suffixOf bytes: Span<UInt8>) {
        let start = Self.addressCount(bytes)
        guard start < bytes.count else { return nil }
        let secretStart = bytes.count - Self.secretBytes
        point = SecretBytes(bytes.extracting(start + 1..<secretStart))
        secret = SecretBytes(bytes.extracting(secretStart..<bytes.count))
    }

    /// The length of the endpoint in the bytes of a push token.
    static func addressCount(_ bytes: Span<UInt8>) -> Int {
        let start = bytes.count - suffixBytes
        guard start > 0, bytes[start] == 0, bytes[start + 1] == 4 else { return bytes.count }
        return start
    }

    /// Appends them to an endpoint.
    func append(to bytes: inout [UInt8]) {
        bytes.append(0)
        point.withSpan { bytes.appendWiping($0) }
        secret.withSpan { bytes.appendWiping($0) }
    }

    /// Writes the member `keys` of a registration.
    package func addMember(to text: inout JSONText) {
        text.beginObject("keys")
        point.withSpan { text.member("p256dh", string: Base64URL.encode($0).span) }
        secret.withSpan { text.member("auth", string: Base64URL.encode($0).span) }
        text.endObject()
    }
}
