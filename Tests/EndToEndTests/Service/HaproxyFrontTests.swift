import Foundation
import TestSupport
import Testing

private enum Haproxy {
    static let program = ["/usr/sbin/haproxy", "/usr/bin/haproxy"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }
}

@Suite(
    "Behind haproxy as Deploy/haproxy.cfg has it",
    .enabled(if: Haproxy.program != nil, "haproxy is not installed (apt: haproxy)"),
    .timeLimit(.minutes(5)))
struct HaproxyFrontTests {
    /// The shipped file without TLS, with port and socket of this test.
    private func configuration(_ socket: String, port: UInt16) throws -> String {
        var text = try String(
            contentsOf: Repository.root.appending(path: "Deploy/haproxy.cfg"), encoding: .utf8)
        for (shipped, here) in [
            ("    user haproxy\n    group haproxy\n", ""),
            (
                "bind :443 ssl crt /etc/ssl/private/wake.example.org.pem alpn http/1.1",
                "bind 127.0.0.1:\(port)"
            ),
            ("maxconn 40000", "maxconn 1000"), ("/run/reveille/http.sock", socket),
        ] {
            guard text.contains(shipped) else { throw TestFailure("no \(shipped)") }
            text = text.replacing(shipped, with: here)
        }
        return text
    }

    @Test("one address takes its share of streams and connections, and others register")
    func crowd() async throws {
        let service = try await ServiceUnderTest(
            listen: "unix:http.sock", extra: "proxy-protocol = on")
        let reserved = try WireServer.reservedPort()
        let socket = service.directory.path + "/service/http.sock"
        let path = service.directory.path + "/haproxy.cfg"
        try configuration(socket, port: reserved.port).write(
            toFile: path, atomically: true, encoding: .utf8)
        let front = try RunningProgram(
            path: Haproxy.program ?? "haproxy", ["-W", "-db", "-f", path])
        _ = try await front.line(containing: "Loading success")
        var streams: [LoopbackClient] = []
        var open = 0
        for _ in 0..<200 {
            let client = try LoopbackClient(port: reserved.port)
            try? client.send("GET /v1/wakes HTTP/1.1\r\nHost: x\r\n\r\n")
            let head = (try? client.receive(through: "\r\n\r\n")) ?? ""
            if head.hasPrefix("HTTP/1.1 200") { open += 1 }
            streams.append(client)
        }
        #expect(open == 32)
        for _ in 0..<10 {
            let device = TestDevice()
            for method in ["PUT", "DELETE"] {
                // Another network of the loopback's than the crowd's.
                let words = [
                    "--silent", "--noproxy", "*", "--interface", "127.73.41.9", "-X", method, "-H",
                    "Authorization: Bearer \(device.token)", "-H",
                    "Content-Type: application/json", "--write-out", "%{http_code}",
                    "--data-binary", "@-", "http://127.0.0.1:\(reserved.port)/v1/registration",
                ]
                let answer = try await RunningProgram.run(
                    path: "/usr/bin/curl", words, input: method == "PUT" ? device.body : [])
                #expect(answer.output == "204")
            }
        }
        front.signal(SIGTERM)
        _ = await front.exit()
        #expect(!front.output.contains("127.73.41.9"))
        withExtendedLifetime(streams) {}
    }
}
