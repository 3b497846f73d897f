import WakeModel

/// Base64 with padding, canonical only (RFC 4648 §4).
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        let text = Base64URL.encode(bytes.span).map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        let padding = (4 - text.count % 4) % 4
        return String(decoding: text, as: UTF8.self) + String(repeating: "=", count: padding)
    }

    static func decode(_ text: String) -> [UInt8]? {
        guard text.utf8.count.isMultiple(of: 4) else { return nil }
        var bare = text
        while bare.hasSuffix("="), text.utf8.count - bare.utf8.count < 2 { bare.removeLast() }
        var bytes: [UInt8] = []
        for byte in bare.utf8 {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): bytes.append(UInt8(ascii: "_"))
            case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
            default: bytes.append(byte)
            }
        }
        guard let decoded = Base64URL.decode(bytes.span), encode(decoded) == text else {
            return nil
        }
        return decoded
    }
}
