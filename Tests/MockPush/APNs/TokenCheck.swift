import WakeModel
import WakePush

/// Checks provider tokens as APNs does, each distinct one once.
struct TokenCheck {
    private let options: Options
    private let key: P256Key?
    private var last: [UInt8] = []
    private var lastVerdict: Refusal?
    private var issuedAt = 0
    private var known: Set<[UInt8]> = []
    private var newestAt: Int?

    var distinct: Int { known.count }

    init(_ options: Options) throws {
        self.options = options
        guard let path = options.publicKey else {
            key = nil
            return
        }
        let pem = try readFile(path)
        key = try P256Key(.publicKey, pem: pem.span)
    }

    /// - Parameter value: of `authorization`; empty when there is none.
    /// - Returns: nil when it is good.
    mutating func check(_ value: ArraySlice<UInt8>, now: Int) -> Refusal? {
        if value.isEmpty { return .missingProviderToken }
        if !value.elementsEqual(last) {
            last = Array(value)
            lastVerdict = verify(value, now)
        }
        if let lastVerdict { return lastVerdict }
        // Age goes on while a token is in use.
        if key != nil, now - issuedAt >= options.tokenAge || issuedAt - now > 60 {
            return .expiredProviderToken
        }
        return nil
    }

    private mutating func verify(_ value: ArraySlice<UInt8>, _ now: Int) -> Refusal? {
        let prefix = Array("bearer ".utf8)
        guard value.starts(with: prefix) else { return .invalidProviderToken }
        let token = value.dropFirst(prefix.count)
        guard let key else {
            known.insert(Array(token))
            return nil
        }
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { return .invalidProviderToken }
        let signed = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
        guard let raw = Self.decode(parts[2]), let signature = ECDSASignature(raw: raw),
            key.verifies(signature, of: signed.span), let header = Self.decode(parts[0]),
            let claims = Self.decode(parts[1]), let names = Self.members(header),
            let values = Self.members(claims), names.texts["alg"] == "ES256",
            names.texts.count == 2, let kid = names.texts["kid"], names.numbers.isEmpty,
            let iss = values.texts["iss"], let iat = values.numbers["iat"],
            values.texts.count == 1, values.numbers.count == 1,
            options.keyID == nil || options.keyID == kid,
            options.teamID == nil || options.teamID == iss
        else { return .invalidProviderToken }
        issuedAt = iat
        if known.insert(Array(token)).inserted {
            defer { newestAt = now }
            if let newestAt, now - newestAt < options.tokenInterval {
                return .tooManyProviderTokenUpdates
            }
        }
        return nil
    }

    private static func decode(_ part: ArraySlice<UInt8>) -> [UInt8]? {
        let text = Array(part)
        return Base64URL.decode(text.span)
    }

    /// The members of an object that holds text and whole numbers only.
    private static func members(
        _ json: [UInt8]
    ) -> (texts: [String: String], numbers: [String: Int])? {
        var texts: [String: String] = [:]
        var numbers: [String: Int] = [:]
        do throws(JSONError) {
            var scanner = try JSONScanner(json, depthLimit: 1)
            try scanner.document { scanner throws(JSONError) in
                try scanner.object { scanner, name throws(JSONError) in
                    let name = String(decoding: name, as: UTF8.self)
                    let start = scanner
                    do throws(JSONError) {
                        numbers[name] = try scanner.integer()
                    } catch {
                        scanner = start
                        texts[name] = String(decoding: try scanner.string(), as: UTF8.self)
                    }
                }
            }
        } catch {
            return nil
        }
        return (texts, numbers)
    }
}
