import WakeModel

/// The compact form of signed JSON Web Tokens (RFC 7515 §3.1 and §5.1, RFC 7519).
enum JSONWebToken {
    /// Header and claims, each base64url, with a full stop between: what is signed.
    static func signedPart(
        header: (inout JSONText) -> Void, claims: (inout JSONText) -> Void
    ) -> [UInt8] {
        encode(header) + [UInt8(ascii: ".")] + encode(claims)
    }

    /// The three parts.
    /// - Parameters:
    ///   - signedPart: is wiped.
    ///   - sign: makes the raw signature; nil when it cannot.
    static func text(
        _ signedPart: consuming [UInt8], sign: (Span<UInt8>) -> [UInt8]?
    ) -> SecretBytes? {
        var text = signedPart
        defer { wipe(&text) }
        guard let signature = sign(text.span) else { return nil }
        text.append(UInt8(ascii: "."))
        text += Base64URL.encode(signature.span)
        return SecretBytes(text)
    }

    private static func encode(_ members: (inout JSONText) -> Void) -> [UInt8] {
        var object = JSONText()
        object.beginObject()
        members(&object)
        object.endObject()
        return Base64URL.encode(object.bytes.span)
    }
}
