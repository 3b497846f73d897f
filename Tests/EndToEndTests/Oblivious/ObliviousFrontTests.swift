import Foundation
import TestSupport
import Testing

@Suite("nginx as a relay, with its file of Deploy", .timeLimit(.minutes(5)))
struct ObliviousFrontTests {
    private typealias Nginx = FrontUnderTest.Kind

    /// nginx with the shipped file, changed to go to a gateway of the test without TLS.
    private final class Relay {
        let directory: TemporaryDirectory
        private let reserved: WireServer
        private let running: RunningProgram

        var url: String { reserved.url + "/" }

        init(to gateway: String) async throws {
            directory = try TemporaryDirectory()
            reserved = try WireServer.reservedPort()
            let place = directory.path
            let changes = [
                (
                    "user www-data;\n",
                    "daemon off;\nmaster_process off;\nerror_log stderr notice;\n"
                ),
                ("pid /run/nginx.pid;", "pid \(place)/nginx.pid;"),
                (
                    "http {\n",
                    ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].reduce("http {\n") {
                        $0 + "    \($1)_temp_path \(place)/\($1);\n"
                    }
                ),
                ("listen 443 ssl;", "listen 127.0.0.1:\(reserved.port);"),
                ("        listen [::]:443 ssl;\n", ""),
                (
                    "        ssl_certificate /etc/ssl/certs/relay.example.net.pem;\n"
                        + "        ssl_certificate_key /etc/ssl/private/relay.example.net.key;\n",
                    ""
                ),
                ("proxy_pass https://wake.example.org/v1/oblivious;", "proxy_pass \(gateway);"),
            ]
            var text = try Repository.text("Deploy/nginx-oblivious.conf")
            for (shipped, here) in changes {
                guard text.contains(shipped) else { throw TestFailure("no \(shipped)") }
                text = text.replacing(shipped, with: here)
            }
            let file = place + "/nginx.conf"
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            running = try RunningProgram(
                path: Nginx.nginx.program ?? "nginx",
                ["-p", place, "-c", file, "-e", place + "/start.log"])
            while (try? LoopbackClient(port: reserved.port)) == nil {
                guard running.end == nil else { throw TestFailure(running.output) }
                try Task.checkCancellation()
                await Task.yield()
            }
        }

        func stop() async -> Int32 {
            running.signal(SIGTERM)
            return await running.exit()
        }
    }

    @Test(
        "a client registers through it, and it writes down no address",
        .enabled(if: Nginx.nginx.program != nil, "no nginx (apt: nginx-light)"))
    func registration() async throws {
        let place = try await ObliviousPlace()
        let relay = try await Relay(to: place.gateway)
        let client = try await place.client(relay: relay.url)
        #expect(try await client.register(TestDevice()) == 0)
        #expect(try place.service.rows() == 1)
        #expect(try await client.command("stored").output.contains("service  apns"))
        #expect(try await client.command("unregister").status == 0)
        _ = await relay.stop()
        let files = try FileSnapshot.files(below: relay.directory.path)
        let written = files.filter { name, _ in !name.hasSuffix("nginx.conf") }
        #expect(written.values.allSatisfy { $0.range(of: Data("127.0.0.1".utf8)) == nil })
    }

    @Test(
        "of a client's request it passes on the content alone",
        .enabled(if: Nginx.nginx.program != nil, "no nginx (apt: nginx-light)"))
    func stripped() async throws {
        let asked = Observed<[WireRequest]>([])
        let gateway = try WireServer { peer in
            guard let request = WireRequest(from: peer) else { return }
            asked.update { $0.append(request) }
            _ = try? peer.send("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n")
        }
        defer { gateway.refuse() }
        let relay = try await Relay(to: gateway.url + "/v1/oblivious")
        let sent = try await RunningProgram.run(
            path: "/usr/bin/curl",
            [
                "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--header",
                "Content-Type: message/ohttp-req", "--header", "Cookie: id=anna", "--header",
                "X-Forwarded-For: 192.0.2.7", "--user-agent", "anna", "--data-binary",
                String(repeating: "x", count: 2103), relay.url,
            ])
        #expect(sent.output == "503")
        _ = await relay.stop()
        let request = try #require(asked.value.first)
        #expect(request.path == "/v1/oblivious" && request.body.count == 2103)
        let names = request.head.split(separator: "\r\n").dropFirst().map {
            $0.prefix { $0 != ":" }.lowercased()
        }
        #expect(names.sorted() == ["content-length", "content-type", "host"])
        #expect(request["host"] == "wake.example.org")
    }
}
