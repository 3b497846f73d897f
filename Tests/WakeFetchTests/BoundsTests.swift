import Testing
import WakeSystem

@testable import WakeFetch

@Suite("Bodies keep within their bounds", .timeLimit(.minutes(5)))
struct BoundsTests {
    @Test("a body of exactly the limit is taken, one byte more is too large", arguments: [0, 1, 5])
    func exact(limit: Int) async throws {
        let body = String(repeating: "x", count: limit)
        let fetcher = try Fetcher.plain()
        for chunked in [false, true] {
            func framed(_ body: String) -> String {
                guard chunked else { return answer(body) }
                let chunk =
                    body.isEmpty ? "" : "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n"
                return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n"
            }
            func answer(_ body: String) -> String { WakeFetchTests.answer("200 OK", body) }
            let fits = LoopbackServer.answering(framed(body))
            let (response, bytes) = try await fetcher.collect(.get(fits.url(), limit: limit))
            #expect(response.status == 200)
            #expect(bytes == Array(body.utf8))
            fits.stop()
            let more = LoopbackServer.answering(framed(body + "x"))
            #expect(await failure(fetcher, .get(try more.url(), limit: limit)) == .tooLarge)
            more.stop()
        }
        await fetcher.close()
    }

    @Test("an announced length beyond the limit ends the fetch before the first byte is kept")
    func announced() async throws {
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 209715200\r\n\r\nfirst bytes")
            peer.waitForClose()
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let gathered = Gathered()
        let heads = Seen<FetchResponse>()
        let error = await failure { () async throws(FetchError) in
            _ = try await fetcher.fetch(
                .get(try FetchURL("\(server.base)/")),
                onHead: { head in
                    heads.note(head)
                    return .proceed
                },
                sink: { chunk in
                    gathered.append(chunk)
                    return .proceed
                })
        }
        #expect(error == .tooLarge)
        #expect(gathered.chunks == 0)
        #expect(heads.all.isEmpty)
        await fetcher.close()
    }

    @Test(
        "a body that ends early is truncated, however it ends",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nshort",
            "HTTP/1.1 206 Partial\r\nContent-Range: bytes 3-9/10\r\nContent-Length: 7\r\n\r\nab",
        ], [false, true])
    func truncated(response: String, byReset: Bool) async throws {
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            peer.send(response)
            if byReset { peer.reset() }
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        var request = FetchRequest.get(try server.url())
        request.range = 3
        let error = await failure(fetcher, request)
        // A reset may destroy what was sent before it, even the head.
        #expect(error == .truncated || (byReset && error?.isNetwork == true))
        await fetcher.close()
    }

    @Test("a status is no error; of its body 4 KiB are handed over and the rest is cut off")
    func errorBody() async throws {
        let page = String(repeating: "x", count: 100_000)
        for announced in [true, false] {
            let server = LoopbackServer { peer in
                _ = peer.readHead()
                peer.send("HTTP/1.1 503 No\r\nRetry-After: 7\r\n")
                if announced { peer.send("Content-Length: 4000000000\r\n") }
                peer.send("\r\n")
                while peer.send(page) {}
            }
            let fetcher = try Fetcher.plain()
            let (response, body) = try await fetcher.collect(.get(server.url()))
            #expect(response.status == 503)
            #expect(response.retryAfter == 7)
            #expect(body == Array(page.utf8.prefix(4096)))
            let (_, short) = try await fetcher.collect(.get(server.url(), limit: 10))
            #expect(short.count == 10)
            await fetcher.close()
            server.stop()
        }
    }

    @Test("an error page that breaks off does not hide the status")
    func brokenErrorPage() async throws {
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            peer.send("HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\nshort")
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let (response, _) = try await fetcher.collect(.get(server.url()))
        #expect(response.status == 404)
        await fetcher.close()
    }

    @Test("gzip that was not asked for is no answer, and is never unpacked")
    func gzip() async throws {
        // RFC 1952: a member that holds "hello".
        let member: [UInt8] = [
            0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0x02, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0,
            0x86, 0xA6, 0x10, 0x36, 0x05, 0, 0, 0,
        ]
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n\r\n"
        let server = LoopbackServer.answering(Array(head.utf8) + member)
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        await #expect(throws: FetchError.protocolViolation) {
            try await fetcher.collect(.get(server.url(), limit: 25))
        }
        let request = String(decoding: server.requests[0], as: UTF8.self)
        #expect(!request.lowercased().contains("accept-encoding"))
        await fetcher.close()
    }

    @Test("a head without end is refused")
    func endlessHead() async throws {
        let fetcher = try Fetcher.plain()
        for line in ["X: y\r\n", "X: \(String(repeating: "y", count: 9000))\r\n", "yyyyyyyyyyyyyy"]
        {
            let server = LoopbackServer { peer in
                _ = peer.readHead()
                peer.send("HTTP/1.1 200 OK\r\n")
                while peer.send(line) {}
            }
            let error = await failure(fetcher, .get(try server.url()))
            #expect(error == .protocolViolation)
            server.stop()
        }
        await fetcher.close()
    }

    @Test("no piece is larger than 64 KiB and none is lost, whatever the pieces on the wire")
    func pieces() async throws {
        let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            var start = 0
            var size = 1
            while start < body.count {
                let piece = body[start..<min(body.count, start + size)]
                peer.send("\(String(piece.count, radix: 16))\r\n")
                peer.send(Array(piece))
                peer.send("\r\n")
                start += piece.count
                size = size * 3 + 1
            }
            peer.send("0\r\n\r\n")
            peer.waitForClose()
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let gathered = Gathered()
        _ = try await fetcher.fetch(.get(server.url(), limit: body.count)) { chunk in
            gathered.append(chunk)
            return .proceed
        }
        #expect(gathered.bytes == body)
        #expect(gathered.largest <= 65536)
        await fetcher.close()
    }
}

extension FetchError {
    var isNetwork: Bool {
        if case .network = self { true } else { false }
    }

    var isTLS: Bool {
        if case .tls = self { true } else { false }
    }
}
