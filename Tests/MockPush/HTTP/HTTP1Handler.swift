import WakeSystem

/// HTTP/1.1 (RFC 9112), one request at a time.
final class HTTP1Handler: ProtocolHandler {
    private let service: HTTPService
    /// The common part of all requests.
    private let blank: HTTPRequest
    /// One whose head has been read, and the bytes of its body that are still to come.
    private var request: (whole: HTTPRequest, left: Int)?
    private var outgoing: OutgoingAnswer?
    /// Of a request that is never answered.
    private var held: InFlightLease?
    private var closes = false

    init(_ service: HTTPService, _ blank: HTTPRequest) {
        self.service = service
        self.blank = blank
    }

    var openStreams: Int { outgoing == nil ? 0 : 1 }

    var nextDue: UInt64? { outgoing?.due }

    func receive(_ bytes: Span<UInt8>, _ connection: Connection) -> Int {
        var position = 0
        while connection.isReading, outgoing == nil {
            if request == nil {
                guard let end = Self.headEnd(bytes, position) else { break }
                guard readHead(bytes.extracting(position..<end)) else {
                    connection.fail("head")
                    break
                }
                position = end
            }
            guard var (whole, left) = request else { break }
            let part = min(left, bytes.count - position)
            whole.keep(bytes.extracting(position..<position + part))
            position += part
            left -= part
            request = left == 0 ? nil : (whole, left)
            if left > 0 { break }
            finish(whole, connection)
        }
        return position
    }

    private static func headEnd(_ bytes: Span<UInt8>, _ start: Int) -> Int? {
        var index = start + 3
        while index < bytes.count {
            if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10,
                bytes[index - 3] == 13
            {
                return index + 1
            }
            index += 1
        }
        return nil
    }

    /// - Returns: false for what is no head of a request with one Host and a plain length.
    private func readHead(_ head: Span<UInt8>) -> Bool {
        let text = String(decoding: head.indices.dropLast(4).map { head[$0] }, as: UTF8.self)
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1", words[1].hasPrefix("/") else {
            return false
        }
        var read = blank
        read.method = String(words[0])
        read.path = String(words[1])
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
                return false
            }
            read.fields.append((line[..<colon].lowercased(), line[colon...].dropFirst().trimmed))
        }
        // RFC 9112 §3.2: exactly one.
        guard let host = read.field("host"), !host.isEmpty, !read.has("transfer-encoding"),
            let length = read.has("content-length")
                ? read.field("content-length").flatMap({ Int($0) }) : 0,
            (0..<1 << 30).contains(length)
        else { return false }
        read.authority = host
        closes = read.field("connection")?.lowercased() == "close"
        request = (read, length)
        return true
    }

    private func finish(_ request: HTTPRequest, _ connection: Connection) {
        switch service.react(request, connection.clock) {
        case .answer(let answer):
            outgoing = OutgoingAnswer(
                answer, latency: service.common.latency, now: connection.clock.microseconds)
            flush(connection)
        case .hang(let lease): held = lease
        case .garbage:
            connection.output += [UInt8](repeating: 0xFF, count: 100)
            connection.state = .ended
        case .reset, .goAway: connection.state = .ended
        }
    }

    func flush(_ connection: Connection) {
        guard var sending = outgoing, sending.due <= connection.clock.microseconds else { return }
        if !sending.isHeadSent {
            guard service.allowance > 0 else { return }
            writeHead(sending.answer, into: &connection.output)
            service.didAnswer(sending.answer.status)
            sending.isHeadSent = true
        }
        let bytes = sending.bytes(room: connection.room)
        if sending.answer.isEndless, !bytes.isEmpty {
            connection.output += "\(String(bytes.count, radix: 16))\r\n".utf8 + bytes + "\r\n".utf8
        } else {
            connection.output += bytes
        }
        outgoing = sending.isWhole ? nil : sending
        if sending.isWhole, closes { connection.endPolitely() }
    }

    private func writeHead(_ answer: HTTPAnswer, into output: inout [UInt8]) {
        // The phrase has no meaning (RFC 9112 §4).
        var text = "HTTP/1.1 \(answer.status) \(answer.status)\r\n"
        for field in answer.fields { text += "\(field.name): \(field.value)\r\n" }
        if answer.isEndless {
            text += "transfer-encoding: chunked\r\n"
        } else if answer.status != 204, answer.status != 304 {
            text += "content-length: \(answer.body.count)\r\n"
        }
        if closes { text += "connection: close\r\n" }
        output += (text + "\r\n").utf8
    }
}

extension Substring {
    /// Without white space around it.
    var trimmed: String {
        var text = self.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
