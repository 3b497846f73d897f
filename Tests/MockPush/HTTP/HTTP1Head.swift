import WakeSystem

/// Heads of HTTP/1.1, read strictly.
enum HTTP1Head {
    /// How long the body is (RFC 9112 §6.3).
    struct Framing {
        var length = 0
        var isChunked = false
        var closes = false
        var expectsContinue = false
    }

    /// - Parameter bytes: with the empty line.
    /// - Returns: nil for what is no head of a request with a Host.
    static func read(_ bytes: [UInt8], into request: inout HTTPRequest) -> Framing? {
        // Octets as they are: nothing in a head is UTF-8.
        var lines: [String] = []
        for line in bytes.dropLast(4).split(separator: 10, omittingEmptySubsequences: false) {
            var line = line
            if line.last == 13 { line.removeLast() }
            guard line.allSatisfy({ $0 >= 0x20 || $0 == 9 }) else { return nil }
            lines.append(String(decoding: line, as: UTF8.self))
        }
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1", words[1].hasPrefix("/") else { return nil }
        request.method = String(words[0])
        request.path = String(words[1])
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { return nil }
            let name = line[..<colon].lowercased()
            guard name.allSatisfy({ $0.isASCII && $0 != " " && $0 != "\t" }) else { return nil }
            let value = line[line.index(after: colon)...]
            request.fields.append((name, Self.trimmed(value)))
        }
        // RFC 9112 §3.2: exactly one.
        guard let host = request.field("host"), !host.isEmpty else { return nil }
        request.authority = host
        return framing(request)
    }

    private static func framing(_ request: HTTPRequest) -> Framing? {
        var framing = Framing()
        framing.closes = request.field("connection")?.lowercased() == "close"
        framing.expectsContinue = request.field("expect")?.lowercased() == "100-continue"
        if request.has("transfer-encoding") {
            // RFC 9112 §6.1: both together are an attack.
            guard request.field("transfer-encoding")?.lowercased() == "chunked",
                !request.has("content-length")
            else { return nil }
            framing.isChunked = true
        } else if request.has("content-length") {
            guard let text = request.field("content-length"), let length = Int(text),
                text.allSatisfy({ $0.isASCII && $0.isNumber }), length < 1 << 30
            else { return nil }
            framing.length = length
        }
        return framing
    }

    static func trimmed(_ text: Substring) -> String {
        var text = text
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text.drop { $0 == " " || $0 == "\t" })
    }

    static func write(_ answer: HTTPAnswer, closes: Bool, into output: inout [UInt8]) {
        // The phrase has no meaning (RFC 9112 §4).
        output += "HTTP/1.1 \(answer.status) \(answer.status)\r\n".utf8
        for field in answer.fields { output += "\(field.name): \(field.value)\r\n".utf8 }
        if answer.isChunked {
            output += "transfer-encoding: chunked\r\n".utf8
        } else if answer.status != 204, answer.status != 304 {
            let count = answer.parts.reduce(0) { $0 + $1.bytes.count }
            output += "content-length: \(count)\r\n".utf8
        }
        if closes { output += "connection: close\r\n".utf8 }
        output += "\r\n".utf8
    }
}

extension HTTPAnswer {
    /// A body without an end, or in parts over time, tells no length.
    var isChunked: Bool { isStreamed || end != .whole }
}
