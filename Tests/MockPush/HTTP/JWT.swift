import WakeModel

/// A JSON Web Token, taken apart and not yet believed (RFC 7515 §3.1).
struct JWT {
    let header: [String: JSONValue]
    let claims: [String: JSONValue]
    /// What the signature is over.
    let signed: [UInt8]
    let signature: [UInt8]

    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { Array($0) }
        let decoded = parts.map { part in Base64URL.decode(part.span) }
        guard parts.count == 3, let head = decoded[0], let body = decoded[1],
            let signature = decoded[2],
            let header = JSONValue(head)?.members, let claims = JSONValue(body)?.members
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = parts[0] + [UInt8(ascii: ".")] + parts[1]
    }
}
