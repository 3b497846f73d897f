import Foundation
import TestSupport
import Testing

@testable import WakePush

/// The engine against HTTP/2 servers that others wrote.
@Suite(
    "Interoperation", .timeLimit(.minutes(2)),
    .enabled(if: EngineCertificates.isInstalled, "needs the openssl command"))
struct EngineInteropTests {
    private let certificates: EngineCertificates
    private let identity: EngineServer.TLS

    init() throws {
        certificates = try EngineCertificates()
        identity = try certificates.issue("server")
    }

    private func configuration(_ port: UInt16) -> EngineConfiguration {
        EngineTests.configuration(
            port, transport: .tls(authorityFile: identity.chain), host: "localhost")
    }

    /// Every push answered once with `status`, and none repeated.
    private func check(_ run: EngineTests.Run, count: Int, status: UInt16) {
        #expect(run.answered.count == count)
        #expect(run.answered.values.allSatisfy { $0 == status })
        #expect(run.failures.isEmpty && run.safeRetries + run.unsafeRetries == 0)
    }

    @Test(
        "nghttpd, of the library that most servers use, answers every push once",
        .enabled(if: EnginePrograms.nghttpd != nil, "needs nghttpd (nghttp2-server)"))
    func nghttpd() async throws {
        let port = try EnginePrograms.freePort()
        let program = try RunningProgram(
            path: try #require(EnginePrograms.nghttpd),
            [
                "--address=127.0.0.1", "--htdocs=\(certificates.folder.path)", "\(port)",
                identity.key, identity.chain,
            ])
        // There is no such file: 404 is its answer to each.
        let run = try await EngineTests.push(20_000, configuration(port))
        check(run, count: 20_000, status: 404)
        program.signal(SIGTERM)
    }

    @Test(
        "node's http2 server sees every push once, with every field",
        .enabled(if: EnginePrograms.node != nil, "needs node (nodejs)"))
    func node() async throws {
        let script = """
            const http2 = require('http2'), fs = require('fs');
            const seen = new Map(); let wrong = 0;
            const server = http2.createSecureServer({
                key: fs.readFileSync('\(identity.key)'),
                cert: fs.readFileSync('\(identity.chain)') });
            server.on('stream', (stream, head) => {
                let body = '';
                stream.on('data', part => body += part);
                stream.on('end', () => {
                    const path = head[':path'];
                    seen.set(path, (seen.get(path) ?? 0) + 1);
                    if (head[':method'] !== 'POST' || head['apns-topic'] !== 'org.example.app'
                        || head['authorization'] !== 'bearer abc' || body !== '{"aps":{}}') wrong++;
                    stream.respond({ ':status': 200, 'apns-id': 'EABEAE54-14A8-11E5-B60B' });
                    stream.end();
                });
            });
            process.on('SIGTERM', () => {
                const twice = [...seen.values()].filter(count => count > 1).length;
                console.log(`seen ${seen.size} twice ${twice} wrong ${wrong}`);
                process.exit(0);
            });
            server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port} `));
            """
        let program = try RunningProgram(
            path: try #require(EnginePrograms.node), ["-e", script])
        let line = try await program.line(containing: "port ")
        let port = try #require(line.split(separator: " ").last.flatMap { UInt16($0) })
        let run = try await EngineTests.push(5000, configuration(port))
        check(run, count: 5000, status: 200)
        program.signal(SIGTERM)
        #expect(await program.exit() == 0)
        #expect(program.output.contains("seen 5000 twice 0 wrong 0"))
    }

    @Test(
        "haproxy speaks HTTP/2 over TLS to us and without to the service behind it",
        .enabled(if: EnginePrograms.haproxy != nil, "needs haproxy"))
    func frontend() async throws {
        let server = try EngineServer()
        defer { server.stop() }
        let port = try EnginePrograms.freePort()
        let program = try EnginePrograms.haproxy(
            try #require(EnginePrograms.haproxy), identity, in: certificates.folder,
            """
            frontend service
                mode http
                bind 127.0.0.1:\(port) ssl crt \(certificates.folder.path)/both.pem alpn h2
                default_backend behind
            backend behind
                mode http
                server one 127.0.0.1:\(server.port) proto h2

            """)
        let run = try await EngineTests.push(20_000, configuration(port))
        check(run, count: 20_000, status: 200)
        #expect(server.paths.count == 20_000)
        #expect(server.paths.values.allSatisfy { $0 == 1 })
        program.signal(SIGTERM)
    }

    @Test(
        "haproxy makes TLS of our plain connection, byte for byte",
        .enabled(if: EnginePrograms.haproxy != nil, "needs haproxy"))
    func originator() async throws {
        let server = try EngineServer(tls: identity)
        defer { server.stop() }
        let port = try EnginePrograms.freePort()
        let program = try EnginePrograms.haproxy(
            try #require(EnginePrograms.haproxy), identity, in: certificates.folder,
            """
            listen originator
                mode tcp
                bind 127.0.0.1:\(port)
                server one 127.0.0.1:\(server.port) ssl alpn h2 sni str(localhost) \
                verify required ca-file \(identity.chain) verifyhost localhost

            """)
        let run = try await EngineTests.push(20_000, EngineTests.configuration(port))
        check(run, count: 20_000, status: 200)
        #expect(server.paths.count == 20_000)
        #expect(server.paths.values.allSatisfy { $0 == 1 })
        program.signal(SIGTERM)
    }
}
