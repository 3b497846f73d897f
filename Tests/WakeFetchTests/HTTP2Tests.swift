import Foundation
import Synchronization
import TestSupport
import Testing

@testable import WakeFetch

@Suite(
    "HTTP/2 where it is allowed", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command (Debian package openssl)"),
    .enabled(if: HTTP2Server.isInstalled, "needs nghttpd (Debian package nghttp2-server)"))
struct HTTP2Tests {
    private static let name = "push.service.invalid"

    private func serve(
        _ authority: TestAuthority, _ options: [String] = [], verbose: Bool = true
    ) async throws -> HTTP2Server {
        try await HTTP2Server(
            authority.issue(for: Self.name), options: options + (verbose ? ["-v"] : []))
    }

    private func request(_ server: HTTP2Server, _ path: String, body: [UInt8]? = nil) throws
        -> FetchRequest
    {
        FetchRequest(
            try FetchURL("https://\(Self.name)/\(path)"), method: body == nil ? .get : .post,
            fields: [FetchField("TTL", "7200"), FetchField("Authorization", "vapid t=abc, k=def")],
            body: body, limit: 4096, purpose: .gateway,
            pin: PinnedAddresses(
                addresses: [try #require(IPAddress("127.0.0.1"))], port: server.port),
            allowsHTTP2: true)
    }

    @Test("many requests at once share one connection, and the next ones as well")
    func multiplexed() async throws {
        let authority = try TestAuthority()
        let server = try await serve(authority)
        let fetcher = try Fetcher(FetchConfiguration(caFile: authority.certificate))
        for _ in 0..<2 {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        try await fetcher.collect(request(server, "no/\(number)")).0.status
                    }
                }
                for try await status in group { #expect(status == 404) }
            }
        }
        await fetcher.close()
        let log = await server.stop()
        #expect(log.connections == 1)
        #expect(log.requests == 100)
    }

    @Test("bursts that are answered at once are received to the last answer")
    func bursts() async throws {
        let authority = try TestAuthority()
        let server = try await serve(authority, verbose: false)
        let (ended, note) = AsyncStream.makeStream(of: Bool.self)
        var iterator = ended.makeAsyncIterator()
        for _ in 0..<40 {
            let fetcher = try Fetcher(FetchConfiguration(caFile: authority.certificate))
            let request = try request(server, "no")
            for _ in 0..<100 {
                fetcher.start(request) { note.yield((try? $0.get().0.status) == 404) }
            }
            for _ in 0..<100 { #expect(await iterator.next() == true) }
            await fetcher.close()
        }
        _ = await server.stop()
    }

    @Test("the head of the request is that of HTTP/1.1, field by field, and the body comes through")
    func post() async throws {
        let authority = try TestAuthority()
        let folder = try TemporaryDirectory()
        try Data(("hello").utf8).write(to: URL(filePath: folder.path + "/" + "page"))
        let server = try await serve(authority, ["-d", folder.path, "--echo-upload"])
        let fetcher = try Fetcher(FetchConfiguration(caFile: authority.certificate))
        let (response, body) = try await fetcher.collect(
            request(server, "page", body: Array("triggered".utf8)))
        #expect(response.status == 200)
        #expect(String(decoding: body, as: UTF8.self) == "triggered")
        // An empty body is one as well.
        let (empty, none) = try await fetcher.collect(request(server, "page", body: []))
        #expect(empty.status == 200)
        #expect(none == [])
        await fetcher.close()
        let log = await server.stop()
        // Versions of libcurl differ in the order of the pseudo fields alone.
        #expect(
            log.fields.prefix(4).sorted() == [
                ":authority: \(Self.name)", ":method: POST", ":path: /page", ":scheme: https",
            ])
        #expect(
            log.fields.dropFirst(4).prefix(5) == [
                "user-agent: Reveille", "accept: */*", "ttl: 7200",
                "authorization: vapid t=abc, k=def", "content-length: 9",
            ])
        #expect(log.fields.last == "content-length: 0")
        #expect(log.connections == 1)
    }

    @Test("more requests than the server takes at once are all answered")
    func streams() async throws {
        let authority = try TestAuthority()
        let server = try await serve(authority, ["-m", "2"])
        let fetcher = try Fetcher(FetchConfiguration(caFile: authority.certificate))
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try await fetcher.collect(request(server, "no/\(number)")).0.status
                }
            }
            for try await status in group { #expect(status == 404) }
        }
        await fetcher.close()
        #expect(await server.stop().requests == 40)
    }

    @Test("a cancelled request ends alone: the others on the connection go on")
    func cancelled() async throws {
        let authority = try TestAuthority()
        let folder = try TemporaryDirectory()
        try Data((String(repeating: "x", count: 4000)).utf8).write(
            to: URL(filePath: folder.path + "/" + "page"))
        let server = try await serve(authority, ["-d", folder.path])
        let fetcher = try Fetcher(FetchConfiguration(caFile: authority.certificate))
        _ = try await fetcher.collect(request(server, "page"))
        let ends = Seen<FetchError?>()
        let (ended, note) = AsyncStream.makeStream(of: Void.self)
        for number in 0..<60 {
            let handle = fetcher.start(try request(server, "page")) { result in
                switch result {
                case .success(let (response, body)):
                    #expect(response.status == 200 && body.count == 4000)
                    ends.note(nil)
                case .failure(let error): ends.note(error)
                }
                note.yield()
            }
            if number % 3 == 0 { handle.cancel() }
        }
        var count = 0
        for await _ in ended {
            count += 1
            if count == 60 { break }
        }
        #expect(ends.all.count { $0 == nil } >= 40)
        #expect(ends.all.allSatisfy { $0 == nil || $0 == .cancelled })
        #expect(ends.all.contains(.cancelled))
        await fetcher.close()
        #expect(await server.stop().connections == 1)
    }

    @Test("a request that does not allow it offers HTTP/1.1 only")
    func refused() async throws {
        let authority = try TestAuthority()
        let server = try await serve(authority)
        let fetcher = try Fetcher(FetchConfiguration(caFile: authority.certificate))
        var request = try request(server, "no")
        request.allowsHTTP2 = false
        // nghttpd ends a connection that did not agree on h2.
        #expect(await failure(fetcher, request) != nil)
        await fetcher.close()
        #expect(await server.stop().requests == 0)
    }

    @Test("a server that has only HTTP/1.1 is spoken to in HTTP/1.1")
    func fallback() async throws {
        let authority = try TestAuthority()
        let issued = try authority.issue(for: Self.name)
        for options in [[], ["-alpn", "http/1.1"]] {
            let server = try await TLSServer(issued, options: options)
            defer { server.stop() }
            let fetcher = try Fetcher(FetchConfiguration(caFile: authority.certificate))
            var request = FetchRequest.get(try FetchURL("https://\(Self.name)/"))
            request.pin = PinnedAddresses(addresses: [Sockets.loopback], port: server.port)
            request.allowsHTTP2 = true
            for _ in 0..<3 { #expect(try await fetcher.collect(request).0.status == 200) }
            await fetcher.close()
        }
    }
}
