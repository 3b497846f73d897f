import WakeModel

/// The service's public VAPID key as distributors want it: a point on P-256, uncompressed, as 87
/// characters of base64url (UnifiedPush D-Bus 0.3.0, "VAPID public key"; RFC 8292 §3.2).
package struct VAPIDKeyText: Sendable, Equatable {
    package let text: [UInt8]

    /// - Returns: nil when it cannot be one.
    package init?(_ text: [UInt8]) {
        // SEC 1 §2.3.3: an uncompressed point begins with 4.
        guard text.count == UnifiedPush.vapidCharacters,
            let point = Base64URL.decode(text.span), point.count == 65, point[0] == 4
        else { return nil }
        self.text = text
    }
}
