import WakeModel
import WakeSystem

/// The compact form of signed JSON Web Tokens (RFC 7515 §3.1 and §5.1, RFC 7519).
enum JSONWebToken {
    /// The bytes to sign: header and claims, each base64url, with a full stop between.
    static func signedPart(
        header: (inout JSONText) -> Void, claims: (inout JSONText) -> Void
    ) -> [UInt8] { encode(header) + [UInt8(ascii: ".")] + encode(claims) }

    /// The three parts; nil when `sign` cannot make the raw signature. `signedPart` is wiped.
    static func text(
        _ signedPart: consuming [UInt8], sign: (Span<UInt8>) -> [UInt8]?
    ) -> SecretBytes? {
        var text = signedPart
        defer { text.wipe() }
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

/// A signature of ECDSA on P-256: DER for libcrypto, raw in a JSON Web Token.
package struct ECDSASignature: Sendable, Equatable {
    /// r and s, 32 bytes each, big-endian (RFC 7518 §3.4).
    package let raw: [UInt8]

    private static let scalarBytes = 32

    /// nil unless `raw` is 64 bytes.
    package init?(raw: [UInt8]) {
        guard raw.count == 2 * Self.scalarBytes else { return nil }
        self.raw = raw
    }

    /// Reads `SEQUENCE { INTEGER r, INTEGER s }` (RFC 3279 §2.2.3), canonical DER only.
    package init?(der: Span<UInt8>) {
        // X.690 §8.1.3.4 and §10.1: lengths under 128 take exactly one byte.
        guard der.count >= 2, der[0] == 0x30, Int(der[1]) == der.count - 2, der[1] < 0x80 else {
            return nil
        }
        var position = 2
        guard let r = Self.scalar(der, &position), let s = Self.scalar(der, &position),
            position == der.count
        else { return nil }
        raw = r + s
    }

    /// `SEQUENCE { INTEGER r, INTEGER s }`.
    package func der() -> [UInt8] {
        let r = Self.integer(raw[..<Self.scalarBytes])
        let s = Self.integer(raw[Self.scalarBytes...])
        return [0x30, UInt8(r.count + s.count)] + r + s
    }

    private static func scalar(_ der: Span<UInt8>, _ position: inout Int) -> [UInt8]? {
        guard der.count - position >= 2, der[position] == 0x02 else { return nil }
        let count = Int(der[position + 1])
        let start = position + 2
        guard count > 0, count <= scalarBytes + 1, der.count - start >= count else { return nil }
        position = start + count
        // X.690 §8.3: two's complement in as few bytes as hold it.
        let first = der[start]
        if first >= 0x80 { return nil }
        let isPadded = first == 0 && count > 1
        if isPadded, der[start + 1] < 0x80 { return nil }
        let digits = isPadded ? start + 1 : start
        guard position - digits <= scalarBytes else { return nil }
        var bytes = [UInt8](repeating: 0, count: scalarBytes - (position - digits))
        for index in digits..<position { bytes.append(der[index]) }
        return bytes
    }

    private static func integer(_ scalar: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(scalar.drop { $0 == 0 })
        if digits.isEmpty || digits[0] >= 0x80 { digits.insert(0, at: 0) }
        return [0x02, UInt8(digits.count)] + digits
    }
}
