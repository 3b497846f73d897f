package import WakeModel

/// What the operator's last audit said, for the page for people: without a date.
package struct AuditVerdict: Sendable, Equatable {
    /// Checks that found something.
    package let violations: Int
    /// SHA-256 of the file that was looked at, hexadecimal.
    package let fileHash: String

    package init(violations: Int, fileHash: [UInt8]) {
        precondition(violations >= 0 && fileHash.count == 32, "a count, and a SHA-256")
        self.violations = violations
        self.fileHash = String(decoding: Hex.encode(fileHash.span), as: UTF8.self)
    }

    /// From the body of `PUT /v1/audit` on the admin listener.
    package init(_ body: [UInt8]) throws(JSONError) {
        var violations: Int?
        var hash: [UInt8]?
        var scanner = try JSONScanner(body)
        try scanner.document { (scanner) throws(JSONError) in
            try scanner.object { (scanner, name) throws(JSONError) in
                if name.span.equals("violations") {
                    violations = try scanner.integer()
                } else if name.span.equals("sha256") {
                    let text = try scanner.string()
                    hash = Hex.decode(text.span)
                } else {
                    throw .unknownMember
                }
            }
        }
        guard let violations, let hash else { throw .missingMember }
        guard violations >= 0, hash.count == 32 else { throw .malformed }
        self.init(violations: violations, fileHash: hash)
    }

    /// The body of `PUT /v1/audit`.
    package func encode() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        text.member("violations", number: violations)
        text.member("sha256", string: fileHash)
        text.endObject()
        return text.bytes
    }
}
