import WakeModel

/// The answer to an exchange: `{"access_token":"ya29.…","expires_in":3599,"token_type":"Bearer"}`.
struct FCMTokenAnswer {
    let token: SecretBytes
    let lifetime: Int

    /// nil for anything else. Members that are not needed are passed over.
    init?(_ body: Span<UInt8>) {
        var token: [UInt8] = []
        defer { wipe(&token) }
        var kind: [UInt8] = []
        var lifetime = 0
        do throws(JSONError) {
            var scanner = try JSONScanner(body.array)
            try scanner.document { scanner throws(JSONError) in
                try scanner.object { scanner, name throws(JSONError) in
                    switch String(decoding: name, as: UTF8.self) {
                    case "access_token": token = try scanner.string()
                    case "token_type": kind = try scanner.string()
                    case "expires_in": lifetime = try scanner.integer()
                    default: try scanner.skip()
                    }
                }
            }
        } catch {
            return nil
        }
        // RFC 6749 §5.1: token_type in any case.
        guard Self.isBearer(kind), Self.isToken(token),
            lifetime >= FCMTokenExchange.lifetimes.lowerBound
        else { return nil }
        self.token = SecretBytes(token)
        self.lifetime = min(lifetime, FCMTokenExchange.lifetimes.upperBound)
    }

    /// The error code of a refusal (RFC 6749 §5.2).
    static func error(in body: Span<UInt8>) -> [UInt8]? {
        var error: [UInt8]?
        do throws(JSONError) {
            var scanner = try JSONScanner(body.array)
            try scanner.document { scanner throws(JSONError) in
                try scanner.object { scanner, name throws(JSONError) in
                    if name.span.equals("error") {
                        error = try scanner.string()
                    } else {
                        try scanner.skip()
                    }
                }
            }
        } catch {
            return nil
        }
        return error
    }

    private static func isBearer(_ kind: [UInt8]) -> Bool {
        kind.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }.elementsEqual("bearer".utf8)
    }

    /// RFC 6750 §2.1: b64token.
    private static func isToken(_ text: [UInt8]) -> Bool {
        (1...FCMTokenExchange.tokenLimit).contains(text.count)
            && text.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || "-._~+/=".utf8.contains(byte)
            }
    }
}
