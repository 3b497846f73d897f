import TestSupport
import Testing
import WakeSystem

@testable import WakeFetch

@Suite("Reading a response head")
struct ResponseHeadTests {
    private static let wallClock: Int64 = 1_000_000_000

    private func read(_ text: String) throws(FetchError) -> FetchResponse? {
        var head = ResponseHead(wallClock: Self.wallClock)
        for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
            let bytes = Array(line) + [0x0A]
            if let response = try head.consume(bytes.span) { return response }
        }
        return nil
    }

    @Test("status, lengths and type are taken, everything else is forgotten")
    func vector() throws {
        let response = try read(
            """
            HTTP/1.1 206 Partial Content\r
            Content-Length: 34464\r
            content-range:\tbytes 65536-99999/100000 \r
            CONTENT-TYPE: Application/Octet-Stream; x=y\r
            Set-Cookie: a=b\r
            Location: http://127.0.0.1/\r
            Retry-After: 120\r
            X-Empty:\r
            \r

            """)
        #expect(
            response
                == FetchResponse(
                    status: 206, contentLength: 34464, contentRangeStart: 65536,
                    contentRangeTotal: 100_000, retryAfter: 120, contentType: .octetStream))
    }

    @Test("interim responses are passed over")
    func interim() throws {
        let response = try read(
            "HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n"
                + "HTTP/1.1 100 \r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
        #expect(response == FetchResponse(status: 200))
    }

    @Test(
        "what is not HTTP is refused",
        arguments: [
            "HTTP/1.1 101 Switching\r\n\r\n", "HTTP/1.1 99 x\r\n", "HTTP/1.1 600 x\r\n",
            "HTTP/1.1 20 x\r\n", "HTTP/1.1 2000 x\r\n", "HTTP/1.1 +20 x\r\n", "HTTP/1.1\r\n",
            "ICY 200 OK\r\n", "HTTP/1.1 200 OK\r\nNo-Colon\r\n", "HTTP/1.1 200 OK\r\n: x\r\n",
            "HTTP/1.1 200 OK\r\nA : x\r\n", "HTTP/1.1 200 OK\r\nA: x\r\n folded\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length:\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        ])
    func refused(text: String) {
        #expect(throws: FetchError.protocolViolation) { try read(text) }
    }

    @Test(
        "a field that must be there is looked for in the final head, with its value",
        arguments: [
            ("flavor: Good\r\n", true), ("FLAVOR:Good \r\n", true), ("", false),
            ("Flavor: good\r\n", false), ("Flavor: Goods\r\n", false), ("Flavors: Good\r\n", false),
        ])
    func expected(field: String, isThere: Bool) throws {
        var head = ResponseHead(wallClock: 0, expected: FetchField("Flavor", "Good"))
        var isRead = false
        do throws(FetchError) {
            let interim = "HTTP/1.1 103 Early Hints\r\nFlavor: Good\r\n\r\n"
            for line in (interim + "HTTP/1.1 200 OK\r\n\(field)\r\n").utf8.split(separator: 0x0A) {
                isRead = try head.consume((Array(line) + [0x0A]).span) != nil
            }
        } catch { #expect(error == .protocolViolation) }
        #expect(isRead == isThere)
    }

    @Test("all that a server sends as head is counted together", arguments: [1, 40, 4000])
    func bounded(width: Int) {
        var head = ResponseHead(wallClock: 0)
        var sent = 0
        #expect(throws: FetchError.protocolViolation) {
            while sent < 1 << 20 {
                let field = "A: \(String(repeating: "x", count: width))\r\n"
                for line in ["HTTP/1.1 100 C\r\n", field, "\r\n"] {
                    sent += line.utf8.count
                    let response = try head.consume(Array(line.utf8).span)
                    #expect(response == nil)
                }
            }
        }
        #expect(sent > ResponseHead.maximumBytes)
        #expect(sent <= ResponseHead.maximumBytes + width + 64)
    }

    @Test("trailers count as well, and change nothing")
    func trailers() throws {
        var head = ResponseHead(wallClock: 0)
        var response: FetchResponse?
        for line in ["HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n", "\r\n"] {
            #expect(response == nil)
            response = try head.consume(Array(line.utf8).span)
        }
        #expect(response == FetchResponse(status: 200))
        #expect(throws: FetchError.protocolViolation) {
            for _ in 0..<2000 {
                let trailer = Array("Content-Length: 5\r\n".utf8)
                let again = try head.consume(trailer.span)
                #expect(again == nil)
            }
        }
    }

    @Test(
        "a range is taken only from a well-formed Content-Range of a 206",
        arguments: [
            ("bytes 0-0/1", 0), ("BYTES 5-9/*", 5), ("bytes 5-4/10", nil), ("bytes 5-10/10", nil),
            ("bytes */10", nil), ("bytes 5-/10", nil), ("bytes -5/10", nil), ("items 0-1/2", nil),
            ("bytes 0-1", nil), ("bytes 0-1/", nil), ("bytes 99999999999999999999-1/2", nil),
        ] as [(String, UInt64?)])
    func ranges(value: String, start: UInt64?) throws {
        let partial = try read("HTTP/1.1 206 P\r\nContent-Range: \(value)\r\n\r\n")
        let total: UInt64? = value == "bytes 0-0/1" ? 1 : nil
        #expect(
            partial
                == FetchResponse(status: 206, contentRangeStart: start, contentRangeTotal: total))
        let whole = try read("HTTP/1.1 200 OK\r\nContent-Range: \(value)\r\n\r\n")
        #expect(whole == FetchResponse(status: 200))
    }

    @Test(
        "Retry-After is seconds, or a date against the server's clock, or against ours",
        arguments: [
            ("Retry-After: 0", 0), ("Retry-After: 99999999999999999999", Int(Int32.max)),
            ("Retry-After: -5", nil), ("Retry-After: soon", nil), ("Retry-After:", nil),
            ("Retry-After: Sun, 09 Sep 2001 01:47:40 GMT", 60),
            ("Retry-After: Sun, 09 Sep 2001 01:46:39 GMT", 0),
            ("Retry-After: Sun, 09 Sep 2001 01:47:40", nil),
            (
                "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:59:37 GMT",
                600
            ),
            ("Date: nonsense\r\nRetry-After: Sun, 09 Sep 2001 01:47:40 GMT", 60),
        ] as [(String, Int?)])
    func retryAfter(fields: String, seconds: Int?) throws {
        let response = try #require(try read("HTTP/1.1 503 No\r\n\(fields)\r\n\r\n"))
        #expect(response.retryAfter == seconds)
    }

    @Test(
        "media types are named without parameters, in any case",
        arguments: [
            ("text/event-stream;charset=utf-8", FetchContentType.eventStream),
            ("application/problem+JSON", .problem), ("application/json ; a=b", .json),
            ("text/html", .html), ("text/plain", .text), ("application/xhtml+xml", .other),
            ("", .other), (";", .other),
        ])
    func types(value: String, type: FetchContentType) throws {
        let response = try read("HTTP/1.1 200 OK\r\nContent-Type: \(value)\r\n\r\n")
        #expect(response == FetchResponse(status: 200, contentType: type))
    }

    @Test("any lines at all are read or refused, never more than the bound")
    func property() {
        var random = SplitMix64(seed: 4)
        let pieces = [
            "HTTP/1.1 200 OK", "HTTP/1.1 100 C", "Content-Length", ":", " ", "5", "\r", "chunked",
            "Transfer-Encoding", "\t", "\u{0}", "Date", "Retry-After", "é",
        ]
        for _ in 0..<5_000 {
            var head = ResponseHead(wallClock: 0)
            var total = 0
            do throws(FetchError) {
                while total < 1 << 16 {
                    var line: [UInt8] = []
                    for _ in 0..<Int.random(in: 0...5, using: &random) {
                        line += Array(pieces[Int.random(in: 0..<pieces.count, using: &random)].utf8)
                    }
                    line.append(0x0A)
                    total += line.count
                    if let response = try head.consume(line.span) {
                        #expect((200...599).contains(response.status))
                    }
                }
                Issue.record("64 KiB of head were accepted")
            } catch {
                #expect(error == .protocolViolation)
                #expect(total <= ResponseHead.maximumBytes + 200)
            }
        }
    }
}
