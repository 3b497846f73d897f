import Testing

@testable import WakeFetch

@Suite("Nothing links requests", .timeLimit(.minutes(5)))
struct UnlinkabilityTests {
    @Test("what a server asks to be remembered is forgotten: the next request is the same bytes")
    func cookies() async throws {
        let server = LoopbackServer.answering(
            answer(
                "200 OK",
                fields: """
                    Set-Cookie: id=1; Max-Age=99999; Path=/\r
                    Alt-Svc: h2="127.0.0.1:1"; ma=99999; persist=1\r
                    Strict-Transport-Security: max-age=99999\r
                    ETag: "tracker"\r
                    Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r
                    Cache-Control: max-age=99999\r
                    WWW-Authenticate: Negotiate, Basic realm="x"\r\n
                    """, "body"))
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        for purpose in [FetchPurpose.feed, .feed, .stream] {
            let (_, body) = try await fetcher.collect(.get(server.url(), purpose: purpose))
            #expect(body == Array("body".utf8))
        }
        #expect(server.requests.count == 3)
        #expect(Set(server.requests).count == 1)
        await fetcher.close()
    }

    @Test("an authentication challenge gets no answer")
    func challenge() async throws {
        let server = LoopbackServer.answering(
            answer("401 No", fields: "WWW-Authenticate: Basic realm=\"x\"\r\n"))
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        #expect(try await fetcher.collect(.get(server.url())).0.status == 401)
        #expect(server.requests.count == 1)
        await fetcher.close()
    }

    @Test("fetches of one purpose share a connection, purposes and fetchers never do")
    func purposes() async throws {
        let server = LoopbackServer.answering(answer("200 OK", "x"))
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        for _ in 0..<5 { _ = try await fetcher.collect(.get(server.url())) }
        #expect(server.connections == 1)
        for purpose in FetchPurpose.allCases {
            _ = try await fetcher.collect(.get(server.url(), purpose: purpose))
        }
        #expect(server.connections == FetchPurpose.allCases.count)
        let other = try Fetcher.plain()
        _ = try await other.collect(.get(server.url()))
        #expect(server.connections == FetchPurpose.allCases.count + 1)
        await other.close()
        await fetcher.close()
    }

    @Test("two origins never share a connection, not even two names of one address")
    func origins() async throws {
        let first = LoopbackServer.answering(answer("200 OK", "1"))
        let second = LoopbackServer.answering(answer("200 OK", "2"))
        defer {
            first.stop()
            second.stop()
        }
        let fetcher = try Fetcher.plain()
        for _ in 0..<3 {
            #expect(try await fetcher.collect(.get(first.url())).1 == Array("1".utf8))
            #expect(try await fetcher.collect(.get(second.url())).1 == Array("2".utf8))
        }
        #expect(first.connections == 1)
        #expect(second.connections == 1)
        _ = try await fetcher.collect(.get(FetchURL("http://localhost:\(first.port)/")))
        #expect(first.connections == 2)
        await fetcher.close()
    }

    @Test("closing closes the connections")
    func closing() async throws {
        let (closed, note) = AsyncStream.makeStream(of: Bool.self)
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            peer.send(answer("200 OK", "x"))
            note.yield(peer.waitForClose())
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        _ = try await fetcher.collect(.get(server.url()))
        await fetcher.close()
        #expect(await closed.first { _ in true } == true)
        #expect(await failure(fetcher, .get(try server.url())) == .closed)
    }
}
