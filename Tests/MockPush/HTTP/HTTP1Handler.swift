import WakeSystem

/// HTTP/1.1 (RFC 9112), one request at a time.
final class HTTP1Handler: ProtocolHandler {
    private enum Phase {
        case head
        case body(left: Int)
        case chunk
        case chunkData(left: Int)
        case chunkEnd
        case trailer
        /// The request is whole; what follows waits.
        case answering
    }

    private let service: HTTPService
    /// The common part of all requests.
    private let blank: HTTPRequest
    private var phase = Phase.head
    private var request = HTTPRequest()
    private var outgoing: OutgoingAnswer?
    /// Of a request that is never answered.
    private var held: InFlightLease?
    private var closes = false

    init(_ service: HTTPService, _ blank: HTTPRequest) {
        self.service = service
        self.blank = blank
    }

    var openStreams: Int { outgoing == nil ? 0 : 1 }

    func nextDue(room: Int) -> UInt64? { outgoing?.nextDue(room: room) }

    // MARK: In

    func receive(_ bytes: Span<UInt8>, count: Int, _ connection: ServerConnection) -> Int {
        var position = 0
        while connection.isReading {
            let before = position
            switch phase {
            case .head: position = readHead(bytes, position, count, connection)
            case .body(let left):
                let part = min(left, count - position)
                keep(bytes.extracting(position..<position + part))
                position += part
                phase = .body(left: left - part)
                if part == left { finish(connection) } else { return position }
            case .chunk, .trailer: position = readLine(bytes, position, count, connection)
            case .chunkData(let left):
                let part = min(left, count - position)
                keep(bytes.extracting(position..<position + part))
                position += part
                phase = part == left ? .chunkEnd : .chunkData(left: left - part)
                if part < left { return position }
            case .chunkEnd:
                guard count - position >= 2 else { return position }
                position += 2
                phase = .chunk
            case .answering:
                flush(connection)
                if case .answering = phase { return position }
                continue
            }
            if case .answering = phase { continue }
            if case .body(0) = phase { continue }
            if position == before { return position }
        }
        return position
    }

    private func readHead(
        _ bytes: Span<UInt8>, _ start: Int, _ count: Int, _ connection: ServerConnection
    ) -> Int {
        guard let end = Self.headEnd(bytes, start, count) else { return start }
        var text: [UInt8] = []
        for index in start..<end { text.append(bytes[index]) }
        request = blank
        guard let framing = HTTP1Head.read(text, into: &request) else {
            connection.output += "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8
            connection.state = .ended
            connection.isPolite = true
            service.counters.violations["head", default: 0] += 1
            return end
        }
        closes = framing.closes
        if framing.expectsContinue { connection.output += "HTTP/1.1 100 Continue\r\n\r\n".utf8 }
        phase = framing.isChunked ? .chunk : .body(left: framing.length)
        return end
    }

    private static func headEnd(_ bytes: Span<UInt8>, _ start: Int, _ count: Int) -> Int? {
        var index = start + 3
        while index < count {
            if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10,
                bytes[index - 3] == 13
            {
                return index + 1
            }
            index += 1
        }
        return nil
    }

    /// The length of a chunk, or a line of the trailer (RFC 9112 §7.1).
    private func readLine(
        _ bytes: Span<UInt8>, _ start: Int, _ count: Int, _ connection: ServerConnection
    ) -> Int {
        var text = ""
        var index = start
        while index < count, bytes[index] != 10 {
            text.unicodeScalars.append(Unicode.Scalar(bytes[index]))
            index += 1
        }
        guard index < count else { return start }
        if text.hasSuffix("\r") { text.removeLast() }
        if case .trailer = phase {
            if text.isEmpty { finish(connection) }
        } else if let length = Int(text.prefix { $0 != ";" }, radix: 16), length >= 0,
            length < 1 << 30
        {
            phase = length == 0 ? .trailer : .chunkData(left: length)
        } else {
            service.counters.violations["chunk", default: 0] += 1
            connection.state = .ended
        }
        return index + 1
    }

    private func keep(_ part: Span<UInt8>) {
        request.bodyCount += part.count
        guard request.body.count + part.count <= HTTPRequest.bodyLimit else { return }
        for index in part.indices { request.body.append(part[index]) }
    }

    private func finish(_ connection: ServerConnection) {
        phase = .answering
        switch service.react(request, connection.clock) {
        case .answer(let answer, let lease):
            outgoing = OutgoingAnswer(
                answer, lease, latency: service.common.latency, now: connection.clock.microseconds)
        case .hang(let lease): held = lease
        case .stall(let seconds):
            connection.state = .silent(
                until: connection.clock.microseconds + UInt64(seconds) * 1_000_000)
        case .garbage:
            connection.output += [UInt8](repeating: 0xFF, count: 100)
            connection.state = .ended
        case .reset, .goAway, .close: connection.state = .ended
        }
    }

    // MARK: Out

    func flush(_ connection: ServerConnection) {
        let now = connection.clock.microseconds
        while var sending = outgoing, connection.state != .ended {
            switch sending.step(
                now: now, room: HTTPServerConnection.outputLimit - connection.output.count)
            {
            case .wait: return
            case .head:
                HTTP1Head.write(sending.answer, closes: closes, into: &connection.output)
                service.counters.answers[sending.answer.status, default: 0] += 1
                sending.sentHead(now: now)
                outgoing = sending
                if !sending.answer.hasBody { end(connection) }
            case .bytes(let bytes, let ends):
                if sending.answer.isChunked, !bytes.isEmpty {
                    connection.output += "\(String(bytes.count, radix: 16))\r\n".utf8
                    connection.output += bytes
                    connection.output += "\r\n".utf8
                } else {
                    connection.output += bytes
                }
                sending.sent(bytes.count, now: now)
                outgoing = sending
                if ends {
                    if sending.answer.isChunked { connection.output += "0\r\n\r\n".utf8 }
                    end(connection)
                }
            case .cut:
                outgoing = nil
                connection.state = .ended
            case .done: end(connection)
            }
        }
    }

    private func end(_ connection: ServerConnection) {
        outgoing = nil
        phase = .head
        if closes {
            connection.state = .ended
            connection.isPolite = true
        }
    }
}
