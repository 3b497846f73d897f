import Testing

@testable import WakeHTTP

@Suite("The request parser's bounds")
struct RequestParserLimitTests {
    private static let host = "Host: a.example\r\n"

    private func request(target: String) -> String {
        "GET \(target) HTTP/1.1\r\n\(Self.host)\r\n"
    }

    @Test("a target of 8192 bytes is taken, one more is 414")
    func target() {
        let longest = "/" + String(repeating: "a", count: 8_191)
        let wire = request(target: longest)
        #expect(ParserRun.feed(wire).step == .complete(consumed: wire.utf8.count))
        #expect(ParserRun.feed(request(target: longest + "a")).step == .invalid(.targetTooLong))
    }

    @Test("a request line that never ends is 414 before it is buffered")
    func endlessLine() {
        let wire = "GET /" + String(repeating: "a", count: 8_300)
        #expect(ParserRun.feed(wire).step == .invalid(.targetTooLong))
    }

    @Test("a head of 16384 bytes is taken, one more is 431")
    func head() {
        let frame = "GET / HTTP/1.1\r\n\(Self.host)A: \r\n\r\n".utf8.count
        func wire(_ size: Int) -> String {
            let padding = String(repeating: "x", count: size - frame)
            return "GET / HTTP/1.1\r\n\(Self.host)A: \(padding)\r\n\r\n"
        }
        #expect(ParserRun.feed(wire(16_384)).step == .complete(consumed: 16_384))
        #expect(ParserRun.feed(wire(16_385)).step == .invalid(.headTooLarge))
        #expect(ParserRun.feed(wire(20_000)).step == .invalid(.headTooLarge))
    }

    @Test("64 fields are taken, one more is 431")
    func fieldCount() {
        func wire(_ count: Int) -> String {
            let more = (1..<count).map { "F\($0): x\r\n" }.joined()
            return "GET / HTTP/1.1\r\n\(Self.host)\(more)\r\n"
        }
        #expect(ParserRun.feed(wire(64)).step == .complete(consumed: wire(64).utf8.count))
        #expect(ParserRun.feed(wire(65)).step == .invalid(.headTooLarge))
    }

    @Test("a body at the limit is taken, one byte more is 413 before it is read")
    func body() {
        var limits = RequestLimits()
        limits.bodyBytes = 10
        func wire(_ length: Int) -> String {
            "PUT / HTTP/1.1\r\n\(Self.host)Content-Length: \(length)\r\n\r\n"
        }
        #expect(ParserRun.feed(wire(10), limits: limits).step == .needMore)
        #expect(ParserRun.feed(wire(11), limits: limits).step == .invalid(.contentTooLarge))
    }

    @Test("100-continue is expected only with a body, and never in HTTP/1.0")
    func expectation() {
        func expects(_ version: String, _ length: Int) -> Bool {
            ParserRun.feed(
                "PUT / HTTP/\(version)\r\n\(Self.host)Expect: 100-Continue\r\n"
                    + "Content-Length: \(length)\r\n\r\n"
            ).head.expectsContinue
        }
        #expect(expects("1.1", 3))
        #expect(!expects("1.1", 0))
        #expect(!expects("1.0", 3))
    }
}
