import Testing

@testable import WakePush

/// Servers, or balancers before them, that hang up before TLS is there.
@Suite(.enabled(if: EngineCertificates.isInstalled, "needs the openssl command"))
struct EngineHangUpTests {
    private func run(_ server: EngineServer, _ own: EngineServer.TLS) async throws
        -> EngineTests.Run
    {
        try await EngineTests.push(
            500,
            EngineTests.configuration(
                server.port, transport: .tls(authorityFile: own.chain), host: "localhost"))
    }

    @Test(
        "a server that hangs up in the handshake is attempted again", .timeLimit(.minutes(1)),
        arguments: [EngineServer.HangUp.reset, .end])
    func atFirst(how: EngineServer.HangUp) async throws {
        let own = try EngineCertificates().issue("own")
        let server = try EngineServer(tls: own, hangUps: (1...2, how))
        defer { server.stop() }
        let run = try await run(server, own)
        #expect(run.answered.count == 500 && run.failures.isEmpty)
        #expect(server.connections == 3)
    }

    @Test("a server that refuses the handshake at first is not waited for", .timeLimit(.minutes(1)))
    func refused() async throws {
        let own = try EngineCertificates().issue("own")
        let server = try EngineServer(tls: own, hangUps: (1...1, .alert))
        defer { server.stop() }
        let run = try await run(server, own)
        #expect(run.failures == Array(repeating: .handshake, count: 500))
    }

    @Test(
        "a server that has worked and then fails handshakes for a while loses nothing",
        .timeLimit(.minutes(1)), arguments: EngineServer.HangUp.allCases)
    func later(how: EngineServer.HangUp) async throws {
        let own = try EngineCertificates().issue("own")
        let server = try EngineServer(tls: own, hangUps: (2...3, how)) {
            $0 == 100 ? .goAway : .status(200)
        }
        defer { server.stop() }
        let run = try await run(server, own)
        #expect(run.answered.count == 500 && run.failures.isEmpty)
        #expect(server.connections == 4)
    }
}
