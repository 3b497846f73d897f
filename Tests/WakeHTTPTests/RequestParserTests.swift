import Testing

@testable import WakeHTTP

@Suite("The request parser")
struct RequestParserTests {
    struct Vector: CustomTestStringConvertible {
        let rule: String
        let wire: String
        let refusal: RequestError
        var testDescription: String { rule }

        init(_ rule: String, _ wire: String, _ refusal: RequestError = .malformed) {
            self.rule = rule
            self.wire = wire
            self.refusal = refusal
        }
    }

    private static let host = "Host: a.example\r\n"

    static let requestLines: [Vector] = [
        Vector("two spaces", "GET  / HTTP/1.1\r\n"),
        Vector("space at the end", "GET / HTTP/1.1 \r\n"),
        Vector("space at the start", " GET / HTTP/1.1\r\n"),
        Vector("tab instead of space", "GET\t/\tHTTP/1.1\r\n"),
        Vector("HTTP/0.9", "GET /\r\n"),
        Vector("no target", "GET HTTP/1.1\r\n"),
        Vector("nothing but spaces", "  \r\n"),
        Vector("two empty lines before it", "\r\n\r\nGET / HTTP/1.1\r\n"),
        Vector("method with a delimiter", "G(T / HTTP/1.1\r\n"),
        Vector("bare LF", "GET / HTTP/1.1\n"),
        Vector("bare CR", "GET / HTTP/1.1\rX"),
        Vector("CR CR LF", "GET / HTTP/1.1\r\r\n"),
        Vector("NUL", "GET /\0 HTTP/1.1\r\n"),
        Vector("DEL", "GET /\u{7F} HTTP/1.1\r\n"),
        Vector("HTTP/1.2", "GET / HTTP/1.2\r\n", .versionUnknown),
        Vector("HTTP/2.0", "PRI * HTTP/2.0\r\n", .versionUnknown),
        Vector("HTTP/0.9 written out", "GET / HTTP/0.9\r\n", .versionUnknown),
        Vector("version in small letters", "GET / http/1.1\r\n", .versionUnknown),
        Vector("version with more digits", "GET / HTTP/1.10\r\n", .versionUnknown),
        Vector("unknown method", "BREW / HTTP/1.1\r\n", .methodUnknown),
        Vector("method in small letters", "get / HTTP/1.1\r\n", .methodUnknown),
        Vector("TRACE", "TRACE / HTTP/1.1\r\n", .methodNotAllowed),
        Vector("CONNECT", "CONNECT a.example:443 HTTP/1.1\r\n", .methodNotAllowed),
    ]

    @Test("refuses a bad request line as what it is", arguments: requestLines)
    func requestLine(_ vector: Vector) {
        #expect(ParserRun.feed(vector.wire).step == .invalid(vector.refusal))
    }

    static let targets: [Vector] = [
        "*", "a", "a/b", "a.example:80", "/a#b", "#", "/a b", "/%", "/%4", "/%zz", "/%00",
        "/a?%0", "/a?%00", "/\"", "/<", "/\\", "/^", "/`", "/{", "/|", "/a?b[c]", "/é", "/?é",
        "ftp://a.example/", "http://", "http:///", "http://user@a.example/", "http:/a", "//%",
        "http://a.example:99999/", "http://a b/", "http://[::1/", "http://a.example/#x",
    ].map { Vector($0, "GET \($0) HTTP/1.1\r\n\(host)\r\n") }

    @Test("refuses a target that is neither origin-form nor absolute-form", arguments: targets)
    func target(_ vector: Vector) {
        #expect(ParserRun.feed(vector.wire).step == .invalid(.malformed))
    }

    static let fields: [Vector] = [
        Vector("no Host", ""),
        Vector("two Hosts", host + host),
        Vector("empty Host", "Host:\r\n"),
        Vector("Host with a path", "Host: a/b\r\n"),
        Vector("Host with user information", "Host: a@b\r\n"),
        Vector("Host list", "Host: a.example, b.example\r\n"),
        Vector("two hosts in one field", "Host: a.example,b.example\r\n"),
        Vector("Host with a bad port", "Host: a.example:8x\r\n"),
        Vector("Host with a port out of range", "Host: a.example:65536\r\n"),
        Vector("Host with an open bracket", "Host: [::1\r\n"),
        Vector("Host with a percent NUL", "Host: a%00b\r\n"),
        Vector("space before the colon", host + "Accept : x\r\n"),
        Vector("tab before the colon", host + "Accept\t: x\r\n"),
        Vector("no colon", host + "Accept\r\n"),
        Vector("empty name", host + ": x\r\n"),
        Vector("a space in the name", host + "Acc ept: x\r\n"),
        Vector("obs-fold", host + "A: x\r\n y\r\n"),
        Vector("obs-fold with a tab", host + "A: x\r\n\ty\r\n"),
        Vector("white space before the first field", " Host: a.example\r\n"),
        Vector("NUL in a value", host + "A: x\0y\r\n"),
        Vector("escape in a value", host + "A: \u{1B}\r\n"),
        Vector("bare LF after a value", host + "A: x\n"),
        Vector("bare CR in a value", host + "A: x\ry\r\n"),
        Vector("name beyond ASCII", host + "Ä: x\r\n"),
        Vector("Connection with no token", host + "Connection: a b\r\n"),
        Vector("Content-Length twice", host + "Content-Length: 1\r\nContent-Length: 1\r\n"),
        Vector("Content-Length twice, other", host + "Content-Length: 1\r\ncontent-length: 2\r\n"),
        Vector("Content-Length list", host + "Content-Length: 1, 1\r\n"),
        Vector("Content-Length with plus", host + "Content-Length: +5\r\n"),
        Vector("Content-Length with minus", host + "Content-Length: -1\r\n"),
        Vector("Content-Length in hexadecimal", host + "Content-Length: 0x1\r\n"),
        Vector("Content-Length with a space", host + "Content-Length: 1 1\r\n"),
        Vector("Content-Length with a point", host + "Content-Length: 1.0\r\n"),
        Vector("Content-Length empty", host + "Content-Length:\r\n"),
        Vector("Content-Length overflow", host + "Content-Length: 9223372036854775808\r\n"),
        Vector("Content-Length wrap", host + "Content-Length: 18446744073709551617\r\n"),
        Vector("both lengths", host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
        Vector("both lengths, other way", host + "Transfer-Encoding: x\r\nContent-Length: 1\r\n"),
        Vector("Content-Length too large", host + "Content-Length: 4097\r\n", .contentTooLarge),
        Vector(
            "a content coding", host + "Content-Length: 1\r\nContent-Encoding: gzip\r\n",
            .contentEncoding),
        Vector(
            "an empty content coding", host + "content-encoding:\r\nContent-Length: 1\r\n",
            .contentEncoding),
        Vector("a transfer coding", host + "Transfer-Encoding: chunked\r\n", .transferEncoding),
        Vector("identity", host + "Transfer-Encoding: identity\r\n", .transferEncoding),
        Vector("no coding", host + "Transfer-Encoding:\r\n", .transferEncoding),
        Vector("hidden coding", host + "tRANSFER-eNCODING:\txchunked\r\n", .transferEncoding),
        Vector("unknown expectation", host + "Expect: 200-ok\r\n", .expectationUnknown),
        Vector("expectation list", host + "Expect: 100-continue, x\r\n", .expectationUnknown),
        Vector(
            "one of two expectations unknown", host + "Expect: 100-continue\r\nExpect: x\r\n",
            .expectationUnknown),
    ]

    @Test("refuses bad fields as what they are", arguments: fields)
    func field(_ vector: Vector) {
        let wire = "GET / HTTP/1.1\r\n" + vector.wire + "\r\n"
        #expect(ParserRun.feed(wire).step == .invalid(vector.refusal))
    }

    @Test("wants a length from PUT and POST, and from no other method")
    func lengthRequired() {
        for method in ["PUT", "POST"] {
            let run = ParserRun.feed("\(method) / HTTP/1.1\r\n\(Self.host)\r\n")
            #expect(run.step == .invalid(.lengthRequired))
        }
        for method in ["GET", "HEAD", "DELETE", "OPTIONS"] {
            let wire = "\(method) / HTTP/1.1\r\n\(Self.host)\r\n"
            #expect(ParserRun.feed(wire).step == .complete(consumed: wire.utf8.count))
        }
    }

    @Test("refuses a transfer coding in HTTP/1.0 as faulty framing")
    func codingInVersion10() {
        let wire = "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(ParserRun.feed(wire).step == .invalid(.malformed))
    }

    @Test("takes HTTP/1.0 without Host and ends the connection after it")
    func version10() {
        let run = ParserRun.feed("GET / HTTP/1.0\r\n\r\n")
        #expect(run.step == .complete(consumed: 18))
        #expect(run.head.closes)
        let twice = ParserRun.feed("GET / HTTP/1.0\r\n\(Self.host)\(Self.host)\r\n")
        #expect(twice.step == .invalid(.malformed))
    }

    @Test("reads `close` from any Connection list, in any case")
    func connectionClose() {
        func closes(_ fields: String) -> Bool {
            ParserRun.feed("GET / HTTP/1.1\r\n\(Self.host)\(fields)\r\n").head.closes
        }
        #expect(closes("Connection: close\r\n"))
        #expect(closes("connection: keep-alive , CLOSE\r\n"))
        #expect(closes("Connection: upgrade\r\nConnection:\tclose\t\r\n"))
        #expect(!closes("Connection: keep-alive\r\n"))
        #expect(!closes("Connection: closed, notclose\r\n"))
        #expect(!closes(""))
    }

    @Test("ignores one empty line before a request")
    func emptyLineFirst() {
        let wire = "\r\nGET /x HTTP/1.1\r\n\(Self.host)\r\n"
        let run = ParserRun.feed(wire)
        #expect(run.step == .complete(consumed: wire.utf8.count))
        #expect(run.head.line.path == 6..<8)
    }

    @Test("ends a request at its Content-Length and not a byte further")
    func bodyEnd() {
        let head = "PUT /r HTTP/1.1\r\n\(Self.host)Content-Length: 005\r\n\r\n"
        let wire = head + "12345GET / HTTP/1.1\r\n"
        let run = ParserRun.feed(wire)
        #expect(run.step == .complete(consumed: head.utf8.count + 5))
        #expect(run.head.body == head.utf8.count..<(head.utf8.count + 5))
        #expect(ParserRun.feed(head + "1234").step == .needMore)
    }
}
