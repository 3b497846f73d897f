import Foundation
import Glibc
import TestSupport
import Testing

@testable import WakePush

/// HTTP/2 servers of others, found on this machine.
private enum Servers {
    static let nghttpd = program("nghttpd")
    static let haproxy = program("haproxy")
    static let node = program("node")

    private static func program(_ name: String) -> String? {
        // Some of these are installed for administrators, whose folders are not on every path.
        InstalledPrograms.path(name)
            ?? ["/usr/sbin", "/usr/local/sbin"].map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// The engine against HTTP/2 servers that others wrote.
@Suite(
    "Interoperation", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct EngineInteropTests {
    // Both programs take a number of a port and set SO_REUSEADDR: it is kept for them.
    private let folder: TemporaryDirectory
    private let identity: EngineServer.TLS

    init() throws {
        folder = try TemporaryDirectory()
        identity = try EngineServer.TLS()
    }

    /// haproxy with certificate and key in one file, as it wants them.
    /// - Parameter body: sections beyond the global one.
    private func haproxy(_ body: String) throws -> RunningProgram {
        let both =
            try String(contentsOfFile: identity.chain, encoding: .utf8)
            + String(contentsOfFile: identity.key, encoding: .utf8)
        try both.write(toFile: "\(folder.path)/both.pem", atomically: true, encoding: .utf8)
        let text = """
            global
                maxconn 100
            defaults
                timeout connect 300s
                timeout client 300s
                timeout server 300s

            """
        let file = "\(folder.path)/haproxy.cfg"
        try (text + body).write(toFile: file, atomically: true, encoding: .utf8)
        return try RunningProgram(path: try #require(Servers.haproxy), ["-db", "-f", file])
    }

    private func configuration(_ port: UInt16) -> EngineConfiguration {
        EngineTests.configuration(
            port, transport: .tls(authorityFile: identity.trusted), host: "localhost")
    }

    /// Every push answered once with `status`, and none repeated.
    private func check(_ run: EngineTests.Run, count: Int, status: UInt16) {
        #expect(run.answered.count == count)
        #expect(run.answered.values.allSatisfy { $0 == status })
        #expect(run.failures.isEmpty && run.safeRetries + run.unsafeRetries == 0)
    }

    @Test(
        "nghttpd, of the library that most servers use, answers every push once",
        .enabled(if: Servers.nghttpd != nil, "needs nghttpd (nghttp2-server)"))
    func nghttpd() async throws {
        let place = try WireServer.reservedPort()
        let port = place.port
        let program = try RunningProgram(
            path: try #require(Servers.nghttpd),
            [
                "--address=127.0.0.1", "--htdocs=\(folder.path)", "\(port)",
                identity.key, identity.chain,
            ])
        // There is no such file: 404 is its answer to each.
        let run = try await EngineTests.push(20_000, configuration(port))
        check(run, count: 20_000, status: 404)
        program.signal(SIGTERM)
        withExtendedLifetime(place) {}
    }

    @Test(
        "node's http2 server sees every push once, with every field",
        .enabled(if: Servers.node != nil, "needs node (nodejs)"))
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
            path: try #require(Servers.node), ["-e", script])
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
        .enabled(if: Servers.haproxy != nil, "needs haproxy"))
    func frontend() async throws {
        let server = try EngineServer()
        defer { server.stop() }
        let place = try WireServer.reservedPort()
        let port = place.port
        let program = try haproxy(
            """
            frontend service
                mode http
                bind 127.0.0.1:\(port) ssl crt \(folder.path)/both.pem alpn h2
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
        withExtendedLifetime(place) {}
    }

    @Test(
        "haproxy makes TLS of our plain connection, byte for byte",
        .enabled(if: Servers.haproxy != nil, "needs haproxy"))
    func originator() async throws {
        let server = try EngineServer(tls: identity)
        defer { server.stop() }
        let place = try WireServer.reservedPort()
        let port = place.port
        let program = try haproxy(
            """
            listen originator
                mode tcp
                bind 127.0.0.1:\(port)
                server one 127.0.0.1:\(server.port) ssl alpn h2 sni str(localhost) \
                verify required ca-file \(identity.trusted) verifyhost localhost

            """)
        let run = try await EngineTests.push(20_000, EngineTests.configuration(port))
        check(run, count: 20_000, status: 200)
        #expect(server.paths.count == 20_000)
        #expect(server.paths.values.allSatisfy { $0 == 1 })
        program.signal(SIGTERM)
        withExtendedLifetime(place) {}
    }
}
