import Synchronization
import TestSupport
import Testing
import WakeSystem

@testable import WakeHTTP

@Suite("The HTTP connection, without sockets")
struct HTTPConnectionTests {
    private static let largeLimits: RequestLimits = {
        var limits = RequestLimits()
        limits.bodyBytes = 16
        limits.largePath = Array("/large".utf8)
        limits.largeBodyBytes = 100
        return limits
    }()

    private static func request(
        _ target: String, method: String = "GET", body: String? = nil, fields: String = ""
    ) -> String {
        let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
        return "\(method) \(target) HTTP/1.1\r\nHost: x\r\n\(length)\(fields)\r\n\(body ?? "")"
    }

    /// Conversations that touch every branch of the receiving half.
    static let conversations: [String] = [
        request("/a"),
        request("/a") + request("/b", method: "PUT", body: "12345") + request("/c"),
        request("/a", method: "HEAD") + request("/b") + "\r\n" + request("/c"),
        request("/a") + request("/b", fields: "Connection: close\r\n") + request("/c"),
        request("/a") + "GET / HTTP/1.0\r\n\r\n" + request("/c"),
        request("/a") + "GET  / HTTP/1.1\r\n" + request("/c"),
        request("/large", method: "POST", body: String(repeating: "x", count: 90)) + request("/b"),
        request("/a", method: "POST", body: String(repeating: "x", count: 17)) + request("/b"),
        request("/large", method: "POST", body: String(repeating: "x", count: 101)),
        "HEAD / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    ]

    private func run(
        _ wire: [UInt8], cuts: [Int], isLate: Bool = false, takes: Int? = nil
    ) -> SimulatedConnection {
        var connection = SimulatedConnection(parserLimits: Self.largeLimits)
        if isLate { connection.handler = SimulatedConnection.hold }
        var start = 0
        for cut in cuts + [wire.count] {
            connection.isStuck = takes != nil
            connection.send(wire[start..<cut])
            start = cut
            while isLate || takes != nil, !connection.isClosed {
                if let first = connection.waiting.first {
                    guard let answer = SimulatedConnection.echo(first.request) else { break }
                    connection.answer(answer)
                } else if let takes, connection.http.isBlocked {
                    connection.take(takes)
                } else {
                    break
                }
            }
        }
        return connection
    }

    @Test(
        "gives the same responses however a conversation is cut, answered and read",
        arguments: conversations)
    func everySplit(conversation: String) {
        let wire = Array(conversation.utf8)
        let whole = run(wire, cuts: [])
        #expect(!whole.sent.isEmpty)
        func expectSame(_ other: SimulatedConnection) {
            #expect(other.text == whole.text)
            #expect(other.requests.map(\.path) == whole.requests.map(\.path))
            #expect(other.requests.map(\.body) == whole.requests.map(\.body))
            #expect(other.screened == whole.screened)
        }
        for cut in 0...wire.count {
            for isLate in [false, true] {
                expectSame(run(wire, cuts: [cut], isLate: isLate))
                expectSame(run(wire, cuts: [cut], isLate: isLate, takes: 7))
            }
        }
        expectSame(run(wire, cuts: Array(0...wire.count)))
        expectSame(run(wire, cuts: Array(0...wire.count), isLate: true, takes: 1))
    }

    @Test("random conversations, cuts and answers in any allowed order agree", arguments: 0..<60)
    func random(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var wire: [UInt8] = []
        var expected: [String] = []
        for index in 0..<Int.random(in: 1...20, using: &random) {
            let isLarge = Int.random(in: 0..<4, using: &random) == 0
            let count = Int.random(in: 0...(isLarge ? 100 : 16), using: &random)
            let path = isLarge ? "/large" : "/\(index)"
            wire +=
                Self.request(
                    path, method: "POST", body: String(repeating: "b", count: count)
                ).utf8
            expected.append("post \(path) \(count)")
        }
        let delays = Int.random(in: 0..<3, using: &random)
        var connection = SimulatedConnection(parserLimits: Self.largeLimits)
        var coins = random
        connection.handler = { request in
            Int.random(in: 0...delays, using: &coins) == 0
                ? SimulatedConnection.echo(request) : nil
        }
        var rest = wire[...]
        while !rest.isEmpty || !connection.waiting.isEmpty || connection.http.isBlocked {
            connection.isStuck = Bool.random(using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                let count = min(rest.count, Int.random(in: 1...120, using: &random))
                connection.send(rest.prefix(count))
                rest = rest.dropFirst(count)
            case 1:
                if let first = connection.waiting.first,
                    let answer = SimulatedConnection.echo(first.request)
                {
                    connection.answer(answer)
                }
            default:
                if connection.http.isBlocked {
                    connection.take(Int.random(in: 1...200, using: &random))
                }
            }
        }
        let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        let texts = expected.map {
            "HTTP/1.1 200 OK\r\n\(date)Content-Length: \($0.utf8.count)\r\n\r\n\($0)"
        }
        #expect(connection.text == texts.joined())
    }

    @Test("asks for a body with 100 once, unless the client has begun to send it")
    func expectContinue() {
        let wire = Array(
            Self.request(
                "/a", method: "PUT", body: "12345", fields: "Expect: 100-continue\r\n"
            ).utf8)
        let interim = "HTTP/1.1 100 Continue\r\n\r\n"
        let plain = run(wire, cuts: []).text
        for cut in 0...wire.count {
            let text = run(wire, cuts: [cut]).text
            #expect(text == (cut == wire.count - 5 ? interim + plain : plain))
        }
        #expect(run(wire, cuts: Array(0...wire.count)).text == interim + plain)
    }

    @Test("gives a permit for each large body, back when the request is gone; screens by the head")
    func permits() {
        let permits = BodyMemoryPermits(1)
        let body = String(repeating: "x", count: 90)
        let wire = Self.request("/large", method: "POST", body: body).utf8
        func connection() -> SimulatedConnection {
            SimulatedConnection(parserLimits: Self.largeLimits, permits: permits) {
                _ in .response(Response(204))
            }
        }
        for end in ["close", "deadline", "peer"] {
            var first = connection()
            first.send(wire.dropLast(1))
            var second = connection()
            second.send(Array(wire))
            #expect(second.text.hasPrefix("HTTP/1.1 503 "))
            switch end {
            case "close": _ = first.http.close()
            case "deadline": first.advance(seconds: 11)
            default: first.endSending()
            }
            var third = connection()
            third.send(Array(wire))
            #expect(third.text.hasPrefix("HTTP/1.1 204 "))
        }
        var screened = connection()
        screened.screen = { head in
            #expect(head.body.isEmpty)
            return Response(403)
        }
        screened.send(Array(wire))
        #expect(screened.text.hasPrefix("HTTP/1.1 403 "))
        #expect(screened.requests.isEmpty && screened.hasEndedSending)
    }

    @Test("splits a PROXY header from the first request at every byte")
    func proxyHeader() {
        let wire = ProxyWire.version4([192, 0, 2, 1]) + Array(Self.request("/a").utf8)
        for cut in 0...wire.count {
            var connection = SimulatedConnection(awaitsProxyHeader: true)
            connection.send(wire[..<cut])
            connection.send(wire[cut...])
            #expect(connection.requests.count == 1)
            #expect(connection.text.hasSuffix("get /a 0"))
        }
        var wrong = SimulatedConnection(awaitsProxyHeader: true)
        wrong.send(Array(Self.request("/a").utf8))
        #expect(wrong.isClosed && wrong.sent.isEmpty)
        var silent = SimulatedConnection(awaitsProxyHeader: true)
        silent.send(wire.prefix(5))
        silent.advance(seconds: 11)
        #expect(silent.isClosed && silent.sent.isEmpty)
    }

    @Test("answers with 408, 503 or nothing when a deadline passes")
    func deadlines() {
        var idle = SimulatedConnection()
        idle.advance(seconds: 19.9)
        #expect(!idle.isClosed)
        idle.advance(seconds: 0.2)
        #expect(idle.isClosed && idle.sent.isEmpty)

        var head = SimulatedConnection()
        for byte in "GET / HTT".utf8 {
            head.send([byte])
            head.advance(seconds: 1.05)
        }
        #expect(head.sent.isEmpty)
        head.advance(seconds: 1)
        #expect(head.text.hasPrefix("HTTP/1.1 408 "))
        head.advance(seconds: 3)
        #expect(head.isClosed)

        var limits = HTTPLimits()
        limits.bodyBytesPerSecond = 10
        var body = SimulatedConnection(limits: limits)
        let wire = Self.request("/a", method: "PUT", body: String(repeating: "x", count: 45)).utf8
        body.send(wire.dropLast(1))
        body.advance(seconds: 13.9)
        #expect(body.sent.isEmpty)
        body.advance(seconds: 0.2)
        #expect(body.text.hasPrefix("HTTP/1.1 408 "))

        var late = SimulatedConnection(handler: SimulatedConnection.hold)
        late.send(Self.request("/a").utf8)
        late.advance(seconds: 31)
        #expect(late.text.hasPrefix("HTTP/1.1 503 "))
        late.answer(.response(Response(200)))
        #expect(!late.text.contains(" 200 "))

        var slow = SimulatedConnection()
        slow.isStuck = true
        slow.send(Self.request("/a").utf8)
        slow.advance(seconds: 11)
        #expect(slow.isClosed && slow.wasDropped)
    }

    @Test("sends chunks while the socket takes them, and requests wait for the last")
    func chunks() {
        let losses = Mutex(0)
        func response() -> StreamedResponse {
            StreamedResponse(capacity: 100, onLoss: { losses.withLock { $0 += 1 } }) {}
        }
        let streamed = response()
        var connection = SimulatedConnection { request in
            request.isPath("/a")
                ? .chunks(streamed, head: Response(200)) : SimulatedConnection.echo(request)
        }
        connection.send((Self.request("/a") + Self.request("/b")).utf8)
        streamed.send([0x31, 0x32])
        connection.finish()
        connection.isStuck = true
        streamed.send([0x33])
        connection.finish()
        streamed.send([0x34])
        connection.finish()
        streamed.finish()
        connection.finish()
        #expect(connection.requests.count == 1)
        connection.isStuck = false
        connection.take()
        #expect(
            connection.text.contains("\r\n\r\n2\r\n12\r\n1\r\n3\r\n1\r\n4\r\n0\r\n\r\nHTTP/1.1 200")
        )
        #expect(connection.text.hasSuffix("get /b 0"))

        for end in ["peer", "pause", "late"] {
            let lost = response()
            var other = SimulatedConnection(handler: SimulatedConnection.hold)
            other.send(Self.request("/a").utf8)
            if end == "late" { other.advance(seconds: 31) }
            other.answer(.chunks(lost, head: Response(200)))
            if end == "peer" { other.endSending() }
            if end == "pause" { other.advance(seconds: 601) }
            #expect(lost.send([1]) == .gone)
        }
        #expect(losses.withLock { $0 } == 3)
    }

    @Test("ends after the last response while the server drains, at once when idle")
    func draining() {
        var idle = SimulatedConnection()
        idle.drain()
        #expect(idle.isClosed)
        var busy = SimulatedConnection(handler: SimulatedConnection.hold)
        busy.send((Self.request("/a") + Self.request("/b")).utf8)
        busy.drain()
        #expect(!busy.isClosed)
        busy.answer(.response(Response(200)))
        #expect(busy.text.contains("Connection: close\r\n"))
        #expect(busy.hasEndedSending && busy.requests.count == 1)
        var partial = SimulatedConnection()
        partial.send("GET /a HTT".utf8)
        partial.drain()
        #expect(!partial.isClosed)
    }

    @Test("answers everything received before the client ended its side")
    func peerEnds() {
        for isLate in [false, true] {
            var connection = SimulatedConnection()
            if isLate { connection.handler = SimulatedConnection.hold }
            connection.send((Self.request("/a") + Self.request("/b") + "GET /").utf8)
            connection.endSending()
            while let first = connection.waiting.first,
                let answer = SimulatedConnection.echo(first.request)
            {
                connection.answer(answer)
                connection.endSending()
            }
            #expect(connection.requests.count == 2)
            #expect(connection.text.hasSuffix("get /b 0"))
            #expect(connection.isClosed)
        }
    }
}
