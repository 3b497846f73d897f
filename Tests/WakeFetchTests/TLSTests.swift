import TestSupport
import Testing

@testable import WakeFetch

@Suite(
    "TLS is verified", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command (Debian package openssl)"))
struct TLSTests {
    private func trusting(_ authority: TestAuthority?) throws -> Fetcher {
        try Fetcher(FetchConfiguration(caFile: authority?.certificate))
    }

    @Test("a server with a certificate of the trusted authority, for its name, is spoken to")
    func verified() async throws {
        let authority = try TestAuthority()
        let issued = try authority.issue(for: "localhost")
        let server = try await TLSServer(issued)
        defer { server.stop() }
        let fetcher = try trusting(authority)
        let (response, body) = try await fetcher.collect(.get(server.url()))
        #expect(response.status == 200)
        #expect(response.contentType == .html)
        #expect(String(decoding: body, as: UTF8.self).contains("TLSv1.3"))
        await fetcher.close()
    }

    @Test("no TLS session is resumed, though the server offers it")
    func sessions() async throws {
        let authority = try TestAuthority()
        let issued = try authority.issue(for: "localhost")
        for version in ["-tls1_2", "-tls1_3"] {
            let server = try await TLSServer(issued, options: [version])
            defer { server.stop() }
            let fetcher = try trusting(authority)
            for _ in 0..<3 {
                let (_, body) = try await fetcher.collect(.get(server.url()))
                let page = String(decoding: body, as: UTF8.self)
                #expect(page.contains("New, "))
                #expect(!page.contains("Reused, "))
            }
            await fetcher.close()
        }
    }

    @Test("an unknown authority is refused")
    func authority() async throws {
        let authority = try TestAuthority()
        let issued = try authority.issue(for: "localhost")
        let server = try await TLSServer(issued)
        defer { server.stop() }
        let another = try TestAuthority()
        for other in [nil, another] {
            let fetcher = try trusting(other)
            #expect(await failure(fetcher, .get(try server.url()))?.isTLS == true)
            await fetcher.close()
        }
    }

    @Test("a certificate for another name is refused")
    func name() async throws {
        let authority = try TestAuthority()
        let issued = try authority.issue(for: "other.example")
        let server = try await TLSServer(issued)
        defer { server.stop() }
        let fetcher = try trusting(authority)
        #expect(await failure(fetcher, .get(try server.url()))?.isTLS == true)
        #expect(await failure(fetcher, .get(try server.url("127.0.0.1")))?.isTLS == true)
        await fetcher.close()
    }

    @Test("an expired certificate is refused")
    func expired() async throws {
        let authority = try TestAuthority()
        let issued = try authority.issue(for: "localhost", days: 0)
        let server = try await TLSServer(issued)
        defer { server.stop() }
        let fetcher = try trusting(authority)
        #expect(await failure(fetcher, .get(try server.url()))?.isTLS == true)
        await fetcher.close()
    }

    @Test("TLS older than 1.2 is refused")
    func old() async throws {
        let authority = try TestAuthority()
        let issued = try authority.issue(for: "localhost")
        let options = ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]
        let server = try await TLSServer(issued, options: options)
        defer { server.stop() }
        let fetcher = try trusting(authority)
        #expect(await failure(fetcher, .get(try server.url()))?.isTLS == true)
        await fetcher.close()
    }

    @Test(
        "a server that speaks no TLS is no server", arguments: ["HTTP/1.1 200 OK\r\n\r\n", "\u{0}"])
    func plain(greeting: String) async throws {
        let server = LoopbackServer { peer in
            peer.send(greeting)
            peer.waitForClose()
        }
        defer { server.stop() }
        let fetcher = try trusting(nil)
        let url = try FetchURL("https://127.0.0.1:\(server.port)/")
        var request = FetchRequest.get(url)
        request.timeout.connect = .seconds(1)
        let error = await failure(fetcher, request)
        #expect(error?.isTLS == true || error == .timeout)
        await fetcher.close()
    }

    @Test("a file of authorities that is not there is refused, not replaced by the system's")
    func noFile() async throws {
        let server = LoopbackServer { peer in peer.waitForClose() }
        defer { server.stop() }
        let fetcher = try Fetcher(FetchConfiguration(caFile: "/nonexistent/ca.pem"))
        let url = try FetchURL("https://127.0.0.1:\(server.port)/")
        guard case .tls(77, _) = await failure(fetcher, .get(url)) else {
            Issue.record("no file of authorities, and another failure")
            return
        }
        await fetcher.close()
    }
}
