import Glibc
import Testing

@testable import WakePush

/// TLS: only the right server of the right name that speaks HTTP/2 gets anything.
@Suite(.enabled(if: EngineCertificates.isInstalled, "needs the openssl command"))
struct EngineTLSTests {
    private func run(
        _ server: EngineServer, trusting file: String, host: String = "localhost"
    ) async throws -> EngineTests.Run {
        let start = ContinuousClock.now
        let run = try await EngineTests.push(
            100,
            EngineTests.configuration(
                server.port, transport: .tls(authorityFile: file), host: host))
        #expect(start.duration(to: .now) < .seconds(2))
        return run
    }

    @Test("a trusted server of the right name gets every push once", .timeLimit(.minutes(1)))
    func trusted() async throws {
        let certificates = try EngineCertificates()
        let own = try certificates.issue("own")
        let server = try EngineServer(tls: own)
        defer { server.stop() }
        let run = try await run(server, trusting: own.chain)
        #expect(run.answered.count == 100)
        #expect(server.paths.values.allSatisfy { $0 == 1 })
    }

    @Test("a server that speaks TLS 1.2 and nothing newer gets every push", .timeLimit(.minutes(1)))
    func oldTLS() async throws {
        let certificates = try EngineCertificates()
        var old = try certificates.issue("old")
        old.isOld = true
        let server = try EngineServer(tls: old)
        defer { server.stop() }
        let run = try await run(server, trusting: old.chain)
        #expect(run.answered.count == 100)
    }

    @Test("a server that reads slowly gets every push once", .timeLimit(.minutes(1)))
    func narrow() async throws {
        let certificates = try EngineCertificates()
        var narrow = try certificates.issue("narrow")
        narrow.isNarrow = true
        let server = try EngineServer(tls: narrow)
        defer { server.stop() }
        var configuration = EngineTests.configuration(
            server.port, transport: .tls(authorityFile: narrow.chain), host: "localhost")
        // More in flight than the kernel keeps for a socket: records wait in memory, too.
        configuration.limits.streams = 3000
        configuration.shape.path += String(repeating: "0", count: 4000)
        let run = try await EngineTests.push(6000, configuration)
        #expect(run.answered.count == 6000 && run.unsafeRetries == 0)
        #expect(server.paths.count == 6000 && server.paths.values.allSatisfy { $0 == 1 })
    }

    @Test("without an authority file the system's authorities are trusted", .timeLimit(.minutes(1)))
    func systemTrust() async throws {
        // SSL_CTX_set_default_verify_paths(3): the variable stands for the system's file. It is set
        // in a process of its own.
        await #expect(processExitsWith: .success) {
            let certificates = try EngineCertificates()
            let own = try certificates.issue("own")
            let server = try EngineServer(tls: own)
            let configuration = EngineTests.configuration(
                server.port, transport: .tls(authorityFile: nil), host: "localhost")
            let distrustful = try await EngineTests.push(10, configuration)
            try #require(distrustful.failures.count == 10 && server.bytes == 0)
            try #require(unsafe setenv("SSL_CERT_FILE", own.chain, 1) == 0)
            let run = try await EngineTests.push(10, configuration)
            try #require(run.answered.count == 10)
        }
    }

    @Test("a server of another authority gets nothing", .timeLimit(.minutes(1)))
    func wrongAuthority() async throws {
        let certificates = try EngineCertificates()
        let server = try EngineServer(tls: try certificates.issue("a"))
        defer { server.stop() }
        let run = try await run(server, trusting: try certificates.issue("b").chain)
        // verify(1): 18 is a self-signed certificate that is not trusted.
        #expect(run.failures == Array(repeating: .certificate(18), count: 100))
        #expect(server.bytes == 0)
    }

    @Test("a server whose certificate is for another name gets nothing", .timeLimit(.minutes(1)))
    func wrongName() async throws {
        let certificates = try EngineCertificates()
        let identity = try certificates.issue("a")
        let server = try EngineServer(tls: identity)
        defer { server.stop() }
        let run = try await run(server, trusting: identity.chain, host: "127.0.0.1")
        // 64: the address does not match.
        #expect(run.failures == Array(repeating: .certificate(64), count: 100))
        #expect(server.bytes == 0)
    }

    @Test("an expired certificate gets nothing", .timeLimit(.minutes(1)))
    func expired() async throws {
        let certificates = try EngineCertificates()
        let identity = try certificates.issue("a", days: -1)
        let server = try EngineServer(tls: identity)
        defer { server.stop() }
        let run = try await run(server, trusting: identity.chain)
        // 10: expired.
        #expect(run.failures == Array(repeating: .certificate(10), count: 100))
        #expect(server.bytes == 0)
    }

    @Test("a server that does not speak HTTP/2 gets nothing", .timeLimit(.minutes(1)))
    func noHTTP2() async throws {
        let certificates = try EngineCertificates()
        var identity = try certificates.issue("a")
        identity.speaksHTTP2 = false
        let server = try EngineServer(tls: identity)
        defer { server.stop() }
        let run = try await run(server, trusting: identity.chain)
        #expect(run.failures == Array(repeating: .noHTTP2, count: 100))
        #expect(server.bytes == 0)
    }

    @Test("a missing authority file and a missing library are said clearly")
    func setUp() throws {
        let configuration = EngineTests.configuration(
            1, transport: .tls(authorityFile: "/nonexistent/ca.pem"))
        #expect(throws: PushEngineError.authorityFile) {
            _ = try PushEngine(configuration) { _ in }
        }
        #expect(throws: PushEngineError.libraryMissing(package: "libssl3", isIncomplete: false)) {
            _ = try TLSContext(authorityFile: nil, libraryName: "libnone.so.3")
        }
    }
}
