import TestSupport
import WakeSystem

@testable import WakeHTTP

/// The request parser: cuts change nothing, a request has one reading and one end, and what is
/// accepted is of the one form that RFC 9112 leaves no choice in.
enum RequestProperty {
    /// Small ones, so that inputs reach them.
    static let limits: RequestLimits = {
        var limits = RequestLimits()
        (limits.headBytes, limits.fieldCount, limits.targetBytes) = (400, 6, 100)
        (limits.bodyBytes, limits.largeBodyBytes) = (60, 120)
        limits.largePath = Array("/v1/large".utf8)
        return limits
    }()

    /// - Parameter input: a byte that says how the rest is cut, and what a client sends.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        guard let cuts = input.first else { return false }
        let wire = Array(input.dropFirst())
        let whole = parse(wire, cuts: [])
        var random = SplitMix64(seed: UInt64(cuts))
        let some = (0..<wire.count).filter { _ in random.next() % 8 == 0 }
        try require(parse(wire, cuts: some) == whole, "the reading depends on cuts")
        try require(parse(wire, cuts: Array(0..<wire.count)) == whole, "it depends on single bytes")
        switch whole.step {
        case .needMore: return false
        case .invalid:
            try require(parse(wire + [0x0D, 0x0A], cuts: []).step == whole.step, "a refusal ends")
            return false
        case .complete(let end):
            try checkEnd(wire, end, whole)
            try checkForm(Array(wire[..<end]), whole.head)
            return true
        }
    }

    private struct Parsed: Equatable {
        let step: RequestParser.Step
        let head: RequestHead
    }

    /// Shows ever longer beginnings that end at `cuts`, then everything.
    private static func parse(_ wire: [UInt8], cuts: [Int]) -> Parsed {
        var parser = RequestParser(limits: limits)
        for cut in cuts {
            let step = parser.advance(over: wire.span.extracting(0..<cut))
            if step != .needMore { return Parsed(step: step, head: parser.head) }
        }
        return Parsed(step: parser.advance(over: wire.span), head: parser.head)
    }

    /// A request ends where it ends, whatever follows.
    private static func checkEnd(_ wire: [UInt8], _ end: Int, _ whole: Parsed) throws(Violation) {
        try require(end <= wire.count && whole.head.body.upperBound == end, "an end outside")
        let request = Array(wire[..<end])
        try require(parse(request, cuts: []) == whole, "its end depends on what follows")
        try require(parse(request + [0], cuts: []) == whole, "its end depends on what follows")
        try require(parse(request.dropLast(), cuts: []).step == .needMore, "two ends")
    }

    /// Reads an accepted request again, line by line.
    private static func checkForm(_ request: [UInt8], _ head: RequestHead) throws(Violation) {
        try require(head.body.lowerBound <= limits.headBytes, "a head beyond its limit")
        let most = head.isLarge ? limits.largeBodyBytes : limits.bodyBytes
        try require(head.body.count <= most, "a body beyond its limit")
        var lines = try lines(request[..<head.body.lowerBound])
        // RFC 9112 §2.2: an empty line before the request line.
        if lines.first?.isEmpty == true { lines.removeFirst() }
        try require(lines.popLast()?.isEmpty == true, "a head without its empty line")
        try require((1...limits.fieldCount + 1).contains(lines.count), "a head of other lines")
        try checkLine(lines[0], request, head.line)
        let fields = lines.dropFirst().map { line in
            let name = line.prefix { $0 != 0x3A }
            return (name: name.map(\.lowercased), value: trimmed(line.dropFirst(name.count + 1)))
        }
        func values(_ name: String) -> [ArraySlice<UInt8>] {
            fields.filter { $0.name.elementsEqual(name.utf8) }.map(\.value)
        }
        try require(fields.allSatisfy { !$0.name.isEmpty }, "a field without a name")
        try require(
            fields.allSatisfy { $0.name.allSatisfy(ByteClass.token.contains) }, "a name no token")
        try require(values("transfer-encoding").isEmpty, "a transfer coding")
        let hosts = values("host").count
        try require(hosts == 1 || hosts == 0 && head.line.isVersion10, "not one host")
        let lengths = values("content-length").map { String(decoding: $0, as: UTF8.self) }
        try require(lengths.count <= 1, "two lengths")
        try require(
            lengths.first.map { Int($0) == head.body.count } ?? head.body.isEmpty,
            "a body of another length")
        let message = Request(bytes: request, head: head)
        for field in fields where field.name.elementsEqual("host".utf8) {
            try require(message.onlyValue(of: "Host") == field.value, "another host")
        }
        try require(message.body.count == head.body.count, "another body")
        _ = message.hasJSONBody
    }

    /// The lines of a head, which has no control byte but in its line ends.
    private static func lines(_ head: ArraySlice<UInt8>) throws(Violation) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var rest = head
        while !rest.isEmpty {
            let line = rest.prefix { $0 != 0x0D }
            try require(
                line.allSatisfy { $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }, "a control byte")
            rest = rest.dropFirst(line.count)
            try require(rest.starts(with: [0x0D, 0x0A]), "a bare CR")
            rest = rest.dropFirst(2)
            lines.append(line)
        }
        return lines
    }

    private static func checkLine(
        _ text: ArraySlice<UInt8>, _ request: [UInt8], _ line: RequestLine
    ) throws(Violation) {
        let words = text.split(separator: 0x20, omittingEmptySubsequences: false)
        try require(words.count == 3, "not three words")
        try require(words[0].elementsEqual("\(line.method)".uppercased().utf8), "another method")
        try require(words[1].count <= limits.targetBytes, "a target beyond its limit")
        let version = line.isVersion10 ? "HTTP/1.0" : "HTTP/1.1"
        try require(words[2].elementsEqual(version.utf8), "another version")
        let target = Array(request[line.path]) + (line.query.map { [0x3F] + request[$0] } ?? [])
        try require(request[line.path].first == 0x2F, "a path that is not absolute")
        try require(line.authority != nil || words[1].elementsEqual(target), "another target")
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var value = value.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
        return value
    }
}
