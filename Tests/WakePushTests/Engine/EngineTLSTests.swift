import Glibc
import TestSupport
import Testing
import WakeSystem

@testable import WakePush

/// TLS: only the right server of the right name that speaks HTTP/2 gets anything.
@Suite(
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"),
    .timeLimit(.minutes(5)))
struct EngineTLSTests {
    private func configuration(
        _ server: EngineServer, trusting file: String?, host: String = "localhost"
    ) -> EngineConfiguration {
        var configuration = EngineTests.configuration(
            server.port, transport: .tls(authorityFile: file), host: host)
        // What is wrong is said at once: nothing here waits for a connection.
        configuration.patienceMilliseconds = 3_600_000
        return configuration
    }

    @Test(
        "a trusted server of the right name gets every push once, over TLS 1.2 too",
        arguments: [false, true])
    func trusted(isOld: Bool) async throws {
        var tls = try EngineServer.TLS()
        tls.isOld = isOld
        let server = try EngineServer(tls: tls)
        defer { server.stop() }
        let run = try await EngineTests.push(100, configuration(server, trusting: tls.trusted))
        #expect(run.answered.count == 100)
        #expect(server.paths.values.allSatisfy { $0 == 1 })
    }

    @Test("a server that reads slowly gets every push once")
    func narrow() async throws {
        var narrow = try EngineServer.TLS()
        narrow.isNarrow = true
        let server = try EngineServer(tls: narrow)
        defer { server.stop() }
        var configuration = configuration(server, trusting: narrow.trusted)
        // More in flight than the kernel keeps for a socket: records wait in memory, too.
        configuration.limits.streams = 3000
        configuration.template.path += String(repeating: "0", count: 4000)
        let run = try await EngineTests.push(6000, configuration)
        #expect(run.answered.count == 6000 && run.unsafeRetries == 0)
        #expect(server.paths.count == 6000 && server.paths.values.allSatisfy { $0 == 1 })
    }

    @Test("without an authority file the system's authorities are trusted")
    func systemTrust() async throws {
        // SSL_CTX_set_default_verify_paths(3): the variable stands for the system's file. It is set
        // in a process of its own.
        await #expect(processExitsWith: .success) {
            let tls = try EngineServer.TLS()
            let server = try EngineServer(tls: tls)
            let configuration = EngineTests.configuration(
                server.port, transport: .tls(authorityFile: nil), host: "localhost")
            let distrustful = try await EngineTests.push(10, configuration)
            try #require(distrustful.failures.count == 10 && server.bytes == 0)
            try #require(unsafe setenv("SSL_CERT_FILE", tls.trusted, 1) == 0)
            let run = try await EngineTests.push(10, configuration)
            try #require(run.answered.count == 10)
        }
    }

    /// A server that must get nothing, and the failure that says why.
    enum Wrong: CaseIterable {
        case authority, name, date, protocolName

        var failure: PushFailure {
            switch self {
            // verify(1): 20 is an unknown issuer, 64 another address, 10 an expired certificate.
            case .authority: .connection(.certificate(20))
            case .name: .connection(.certificate(64))
            case .date: .connection(.certificate(10))
            case .protocolName: .connection(.noHTTP2)
            }
        }
    }

    @Test("a server that is wrong in one point gets nothing", arguments: Wrong.allCases)
    func refused(wrong: Wrong) async throws {
        var tls = try EngineServer.TLS(days: wrong == .date ? 0 : 1)
        tls.speaksHTTP2 = wrong != .protocolName
        let trusted = wrong == .authority ? try EngineServer.TLS() : tls
        let server = try EngineServer(tls: tls)
        defer { server.stop() }
        let run = try await EngineTests.push(
            100,
            configuration(
                server, trusting: trusted.trusted,
                host: wrong == .name ? "127.0.0.1" : "localhost"))
        #expect(run.failures == Array(repeating: wrong.failure, count: 100))
        #expect(server.bytes == 0)
    }

    @Test("a missing authority file and a missing library are named")
    func setUp() throws {
        let configuration = EngineTests.configuration(
            1, transport: .tls(authorityFile: "/nonexistent/ca.pem"))
        #expect(throws: PushEngineError.self) {
            _ = try PushEngine(configuration) { _ in }
        }
        #expect(throws: PushEngineError.libraryMissing(package: "libssl3", isIncomplete: false)) {
            _ = try TLSContext(authorityFile: nil, libraryName: "libnone.so.3")
        }
    }
}
