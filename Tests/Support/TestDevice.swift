private import WakeModel

/// One app instance of a test: a random instance token and a random push token, in every form in
/// which they could turn up somewhere.
package struct TestDevice: Sendable {
    /// 32 bytes.
    package let instance: [UInt8]
    /// 32 bytes, as APNs issues them.
    package let push: [UInt8]

    package init() {
        instance = Self.random()
        push = Self.random()
    }

    /// With a push token that others may have as well.
    package init(push: [UInt8]) {
        instance = Self.random()
        self.push = push
    }

    /// With a push token that begins so.
    package init(pushPrefix: [UInt8]) {
        self.init(push: pushPrefix + Self.random().dropFirst(pushPrefix.count))
    }

    /// 43 characters of base64url.
    package var token: String { text(Base64URL.encode(instance.span)) }

    /// 64 hexadecimal digits.
    package var pushText: String { text(Hex.encode(push.span)) }

    /// The body that registers the push token.
    package var body: [UInt8] { Array(#"{"service":"apns","token":"\#(pushText)"}"#.utf8) }

    /// Everything that must not be found: raw, hexadecimal in both cases, base64url.
    package var forms: [[UInt8]] {
        [instance, push].flatMap { secret in
            let hex = Hex.encode(secret.span)
            let upper = Array(text(hex).uppercased().utf8)
            return [secret, hex, upper, Base64URL.encode(secret.span)]
        }
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func random() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: 0...255) } }
}
