import WakeModel
import WakeSystem

/// The JSON reader: what it accepts is one value in one form, can be written and read again, and
/// keeps the bounds; likewise the body of a registration.
enum JSONProperty {
    private static let depth = 5

    /// - Parameter input: a document.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        try checkRegistration(input)
        let isSkipped = skips(input)
        guard let value = parsed(input) else {
            if isSkipped { try checkText(input, members: nil) }
            return isSkipped
        }
        try require(isSkipped, "what is read cannot be passed over")
        var members = 0
        let written = try write(value, depth: 0, &members)
        try checkText(input, members: members)
        try require(parsed(written) == value, "what was written is not what is read")
        try require(parsed([0x20, 0x0A] + input + [0x09, 0x0D]) == value, "space has a meaning")
        try require(parsed(input + [0x2C]) == nil, "more than one value")
        return true
    }

    private static func parsed(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONValue(parsing: bytes, depthLimit: depth)
    }

    private static func skips(_ bytes: [UInt8]) -> Bool {
        do throws(JSONError) {
            var scanner = try JSONScanner(bytes, depthLimit: depth)
            try scanner.document { scanner throws(JSONError) in try scanner.skip() }
            return true
        } catch { return false }
    }

    /// Counts what is outside of strings: the depth, and one colon for each member.
    private static func checkText(_ input: [UInt8], members: Int?) throws(Violation) {
        var (isString, isEscaped) = (false, false)
        var (open, colons) = (0, 0)
        for byte in input {
            if isString {
                try require(byte >= 0x20, "a control byte in a string")
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): open += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): open -= 1
            case UInt8(ascii: ":"): colons += 1
            default: break
            }
            try require((0...depth).contains(open), "nested too deep")
        }
        try require(open == 0 && !isString, "something is open at the end")
        try require(members ?? colons == colons, "a member is lost")
    }

    private static func write(
        _ value: JSONValue, depth: Int, _ members: inout Int
    ) throws(Violation) -> [UInt8] {
        switch value {
        case .null: return Array("null".utf8)
        case .bool(let isTrue): return Array("\(isTrue)".utf8)
        case .number(let isNegative, let magnitude):
            return Array("\(isNegative ? "-" : "")\(magnitude)".utf8)
        case .string(let text): return try quote(text)
        case .array(let elements):
            var bytes: [UInt8] = []
            for element in elements {
                bytes += bytes.isEmpty ? [] : [UInt8(ascii: ",")]
                bytes += try write(element, depth: depth + 1, &members)
            }
            return [UInt8(ascii: "[")] + bytes + [UInt8(ascii: "]")]
        case .object(let object):
            var bytes: [UInt8] = []
            members += object.count
            for (name, member) in object {
                bytes += bytes.isEmpty ? [] : [UInt8(ascii: ",")]
                bytes += try quote(Array(name.utf8)) + [UInt8(ascii: ":")]
                bytes += try write(member, depth: depth + 1, &members)
            }
            return [UInt8(ascii: "{")] + bytes + [UInt8(ascii: "}")]
        }
    }

    /// Written by the writer of our own documents.
    private static func quote(_ text: [UInt8]) throws(Violation) -> [UInt8] {
        try require(String(validating: text, as: UTF8.self) != nil, "text that is not UTF-8")
        try require(!text.contains(0), "NUL in a text")
        var json = JSONText()
        json.member("", string: text.span)
        return Array(json.bytes.dropFirst(3))
    }

    private static func checkRegistration(_ input: [UInt8]) throws(Violation) {
        guard let body = try? RegistrationBody(decoding: input) else { return }
        try require(body.token.bytes.count <= Limits.pushTokenBytes, "a token beyond its row")
        let encoded = RegistrationBody.encode(body.token, proof: body.proof)
        let again = try? RegistrationBody(decoding: encoded)
        try require(again?.token == body.token, "a token that changes")
        try require((again?.proof == nil) == (body.proof == nil), "a proof is lost")
        try require(again?.proof?.text == body.proof?.text, "a proof that changes")
        try require(encoded.count >= Limits.paddedBodyBytes, "a body that is not padded")
        try require(encoded.count <= Limits.requestBodyBytes, "a body that would be refused")
    }
}
