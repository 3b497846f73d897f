import FoundationEssentials
import WakeModel

/// A JSON document as a whole, for checks that look at every member.
enum JSONValue: Decodable {
    case object([String: JSONValue])
    case text(String)
    case number(Int)
    case other

    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else {
            return nil
        }
        self = value
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let members = try? container.decode([String: JSONValue].self) {
            self = .object(members)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else {
            self = .other
        }
    }

    var members: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }
    var string: String? { if case .text(let text) = self { text } else { nil } }
    var integer: Int? { if case .number(let number) = self { number } else { nil } }
}

/// A JSON Web Token, taken apart and not yet believed (RFC 7515 §3.1).
struct JWT {
    let header: [String: JSONValue]
    let claims: [String: JSONValue]
    /// What the signature is over.
    let signed: [UInt8]
    let signature: [UInt8]

    init?(_ text: some StringProtocol) {
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
