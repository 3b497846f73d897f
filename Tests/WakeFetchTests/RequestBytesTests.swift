import Testing

@testable import WakeFetch

@Suite("What is sent", .timeLimit(.minutes(5)))
struct RequestBytesTests {
    private func sent(_ request: (FetchURL) -> FetchRequest, path: String) async throws -> [String]
    {
        let server = LoopbackServer { peer in
            while let head = peer.readHead() {
                let text = String(decoding: head, as: UTF8.self)
                let length = text.split(separator: "\r\n").lazy
                    .filter { $0.hasPrefix("Content-Length: ") }
                    .compactMap { Int($0.dropFirst(16)) }.first
                guard peer.read(length ?? 0) != nil else { return }
                peer.send(answer("204 No Content"))
            }
        }
        defer { server.stop() }
        for _ in 0..<2 {
            let fetcher = try Fetcher.plain()
            _ = try await fetcher.collect(request(server.url(path)))
            await fetcher.close()
        }
        return server.requests.map {
            String(decoding: $0, as: UTF8.self)
                .split(separator: ":\(server.port)", omittingEmptySubsequences: false)
                .joined(separator: ":PORT")
        }
    }

    @Test("two fetchers send the same bytes, and these are all of them")
    func identical() async throws {
        let heads = try await sent({ .get($0) }, path: "/feed/head?a=1")
        let expected =
            "GET /feed/head?a=1 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"
            + "User-Agent: Reveille\r\nAccept: */*\r\n\r\n"
        #expect(heads == [expected, expected])
    }

    @Test("a registration is sent with its token and body and nothing else")
    func put() async throws {
        let body = [UInt8](repeating: 0x20, count: 1024)
        let heads = try await sent(
            {
                FetchRequest(
                    $0, method: .put,
                    fields: [
                        FetchField("Authorization", Array("Bearer abc".utf8)),
                        FetchField("Content-Type", "application/json"),
                    ], body: body, limit: 0, purpose: .registration)
            }, path: "/v1/registration")
        let expected =
            "PUT /v1/registration HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nUser-Agent: Reveille\r\n"
            + "Accept: */*\r\nAuthorization: Bearer abc\r\nContent-Type: application/json\r\n"
            + "Content-Length: 1024\r\n\r\n"
        #expect(heads == [expected, expected])
    }

    @Test("a delete without body sends none, a post without body announces none")
    func bodiless() async throws {
        let deletes = try await sent(
            { FetchRequest($0, method: .delete, limit: 0, purpose: .registration) }, path: "/")
        #expect(
            deletes[0]
                == "DELETE / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nUser-Agent: Reveille\r\n"
                + "Accept: */*\r\n\r\n")
        let posts = try await sent(
            { FetchRequest($0, method: .post, limit: 0, purpose: .registration) }, path: "/")
        #expect(
            posts[0]
                == "POST / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nUser-Agent: Reveille\r\n"
                + "Accept: */*\r\nContent-Length: 0\r\n\r\n")
    }

    @Test("a large body is sent at once, without Expect")
    func largeBody() async throws {
        let body = [UInt8](repeating: 0x61, count: 2 << 20)
        let heads = try await sent(
            { FetchRequest($0, method: .put, body: body, limit: 0, purpose: .feed) }, path: "/")
        #expect(!heads[0].contains("Expect"))
        #expect(heads[0].contains("Content-Length: 2097152\r\n"))
    }

    @Test("a range is asked for from its first byte to the end")
    func range() async throws {
        let heads = try await sent(
            { FetchRequest($0, range: 65536, limit: 1, purpose: .feed) }, path: "/b/1")
        #expect(
            heads[0]
                == "GET /b/1 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nUser-Agent: Reveille\r\n"
                + "Accept: */*\r\nRange: bytes=65536-\r\n\r\n")
    }

    @Test(
        "a field value that could end the line is refused before anything is sent",
        arguments: ["a\r\nX: y", "a\nb", "a\u{0}b", "", " a", "a ", "ä", "\u{7F}"])
    func hostileField(value: String) async throws {
        let server = LoopbackServer.answering(answer())
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        var request = FetchRequest.get(try server.url())
        request.fields = [FetchField("Authorization", Array(value.utf8))]
        #expect(await failure(fetcher, request) == .invalidField)
        await fetcher.close()
        #expect(server.connections == 0)
    }

    @Test("requests and fields do not show what they hold")
    func redacted() throws {
        let secret = "secret-token"
        let field = FetchField("Authorization", Array(secret.utf8))
        let request = FetchRequest(
            try FetchURL("https://example.com/\(secret)"), fields: [field], limit: 1,
            purpose: .registration)
        let proxy = try #require(
            FetchProxy(host: "localhost", port: 9050, isolation: Array(secret.utf8)))
        for text in [
            "\(field)", "\(request)", "\(request.url)", "\(proxy)", String(reflecting: request),
            String(reflecting: field), String(reflecting: request.url), dumped(request),
            dumped(field), dumped(proxy),
        ] {
            #expect(!text.contains(secret))
            #expect(!text.contains("115, 101, 99"))
        }
    }

    private func dumped(_ value: some Any) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }
}
