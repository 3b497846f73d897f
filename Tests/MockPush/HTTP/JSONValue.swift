import WakeModel
import WakeSystem

/// A JSON document as a whole, for checks that look at every member.
indirect enum JSONValue {
    case object([String: JSONValue])
    case array([JSONValue])
    case text([UInt8])
    case number(Int)
    case bool(Bool)
    /// null, or a number with a fraction.
    case other

    /// Nil for what is no JSON, has a member twice, or nests deeper than eight.
    init?(_ bytes: [UInt8]) {
        do throws(JSONError) {
            var scanner = try JSONScanner(bytes, depthLimit: 8)
            self = try scanner.document { scanner throws(JSONError) in
                try Self.value(&scanner)
            }
        } catch {
            return nil
        }
    }

    private static func value(_ scanner: inout JSONScanner) throws(JSONError) -> JSONValue {
        let start = scanner
        if let text = try? scanner.string() { return .text(text) }
        scanner = start
        if let number = try? scanner.integer() { return .number(number) }
        scanner = start
        if let bool = try? scanner.bool() { return .bool(bool) }
        scanner = start
        if let members = try? object(&scanner) { return .object(members) }
        scanner = start
        if let elements = try? array(&scanner) { return .array(elements) }
        scanner = start
        try scanner.skip()
        return .other
    }

    private static func object(
        _ scanner: inout JSONScanner
    ) throws(JSONError) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        try scanner.object { scanner, name throws(JSONError) in
            members[String(decoding: name, as: UTF8.self)] = try value(&scanner)
        }
        return members
    }

    private static func array(_ scanner: inout JSONScanner) throws(JSONError) -> [JSONValue] {
        var elements: [JSONValue] = []
        try scanner.array { scanner throws(JSONError) in
            elements.append(try value(&scanner))
        }
        return elements
    }

    var members: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    var bytes: [UInt8]? {
        if case .text(let bytes) = self { bytes } else { nil }
    }

    var string: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    var integer: Int? {
        if case .number(let number) = self { number } else { nil }
    }
}
