import TestSupport
import Testing

@testable import WakeFetch

@Suite(
    "TLS with a pin is for the name", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command (Debian package openssl)"))
struct PinnedTLSTests {
    /// Not known to any name server (RFC 6761 §6.4).
    private static let name = "push.service.invalid"

    private func pinned(_ url: String, _ port: UInt16) throws -> FetchRequest {
        var request = FetchRequest.get(try FetchURL(url), purpose: .gateway)
        request.pin = PinnedAddresses(addresses: [try #require(IPAddress("127.0.0.1"))], port: port)
        return request
    }

    @Test("a name that resolves nowhere is spoken to, with its certificate and its SNI")
    func name() async throws {
        let authority = try TestAuthority()
        let issued = try authority.issue(for: Self.name)
        let other = try authority.issue(for: "other.invalid")
        // The certificate for the name is shown only to whoever asks for the name.
        let server = try await TLSServer(
            other,
            options: ["-servername", Self.name, "-cert2", issued.certificate, "-key2", issued.key])
        defer { server.stop() }
        let fetcher = try Fetcher(FetchConfiguration(caFile: authority.certificate))
        for allowed in [false, true] {
            var request = try pinned("https://\(Self.name)/", server.port)
            request.allowsHTTP2 = allowed
            #expect(try await fetcher.collect(request).0.status == 200)
        }
        // The control: without pin it does not resolve.
        let unpinned = FetchRequest.get(try FetchURL("https://\(Self.name)/"))
        // Where no name server answers it is the time that ends.
        let end = await failure(fetcher, unpinned)
        #expect(end == .network(code: 6) || end == .timeout)
        await fetcher.close()
    }

    @Test("a certificate for another name, or for the address, is refused")
    func wrong() async throws {
        let authority = try TestAuthority()
        let fetcher = try Fetcher(FetchConfiguration(caFile: authority.certificate))
        for name in ["other.invalid", "127.0.0.1", "service.invalid", "a.push.service.invalid"] {
            let issued = try authority.issue(for: name)
            let server = try await TLSServer(issued)
            defer { server.stop() }
            let request = try pinned("https://\(Self.name)/", server.port)
            #expect(await failure(fetcher, request)?.isTLS == true)
        }
        await fetcher.close()
    }

    @Test("a connection for one name does not serve another at the same address")
    func names() async throws {
        let authority = try TestAuthority()
        let issued = try authority.issue(for: Self.name)
        let server = try await TLSServer(issued)
        defer { server.stop() }
        let fetcher = try Fetcher(FetchConfiguration(caFile: authority.certificate))
        #expect(
            try await fetcher.collect(pinned("https://\(Self.name)/", server.port)).0.status == 200)
        let other = try pinned("https://other.invalid/", server.port)
        #expect(await failure(fetcher, other)?.isTLS == true)
        await fetcher.close()
    }
}
