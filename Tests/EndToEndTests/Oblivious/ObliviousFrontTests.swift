import Foundation
import TestSupport
import Testing

/// nginx with the shipped file, changed to go without TLS to a gateway of the test.
final class ObliviousRelay {
    static let program = FrontUnderTest.Kind.nginx.program
    static let missing: Comment = "no nginx (apt: nginx-light)"

    let directory: TemporaryDirectory
    let program: RunningProgram
    private let reserved: WireServer

    var port: UInt16 { reserved.port }
    var url: String { reserved.url + "/" }

    /// - Parameter isLimited: as shipped; else a test may send as many requests as it likes.
    init(to gateway: String, isLimited: Bool = false) async throws {
        directory = try TemporaryDirectory()
        reserved = try WireServer.reservedPort()
        let place = directory.path
        var changes = [
            ("user www-data;\n", "daemon off;\nmaster_process off;\nerror_log stderr notice;\n"),
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
        if !isLimited {
            changes.append(("            limit_req zone=clients_rate burst=60 nodelay;\n", ""))
        }
        var text = try Repository.text("Deploy/nginx-oblivious.conf")
        for (shipped, here) in changes {
            guard text.contains(shipped) else { throw TestFailure("no \(shipped)") }
            text = text.replacing(shipped, with: here)
        }
        let file = place + "/nginx.conf"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        program = try RunningProgram(
            path: Self.program ?? "nginx", ["-p", place, "-c", file, "-e", place + "/start.log"])
        while (try? LoopbackClient(port: reserved.port)) == nil {
            guard program.end == nil else { throw TestFailure(program.output) }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// - Returns: the exit status.
    @discardableResult
    func stop(_ signal: Int32 = SIGTERM) async -> Int32 {
        program.signal(signal)
        return await program.exit()
    }
}

@Suite(
    "nginx as a relay, with its file of Deploy", .timeLimit(.minutes(5)),
    .enabled(if: ObliviousRelay.program != nil, ObliviousRelay.missing))
struct ObliviousFrontTests {
    private static func post(_ count: Int = 2103) -> String {
        "POST / HTTP/1.1\r\nHost: relay.example.net\r\nContent-Type: message/ohttp-req\r\n"
            + "Cookie: id=anna\r\nUser-Agent: anna\r\nX-Forwarded-For: 192.0.2.7\r\n"
            + "Content-Length: \(count)\r\n\r\n" + String(repeating: "x", count: count)
    }

    private static func send(_ request: String, to relay: ObliviousRelay) throws -> WireResponse {
        let client = try LoopbackClient(port: relay.port)
        try client.send(request)
        return try client.receiveResponse()
    }

    @Test("passes on the content alone, and what the gateway says of it")
    func content() async throws {
        let answer = Observed("")
        let asked = Observed<[WireRequest]>([])
        let gateway = try WireServer { peer in
            guard let request = WireRequest(from: peer) else { return }
            asked.update { $0.append(request) }
            _ = try? peer.send(answer.value)
        }
        defer { gateway.refuse() }
        let relay = try await ObliviousRelay(to: gateway.url + "/v1/oblivious")
        let problem = "Content-Type: application/problem+json\r\n"
        let cases: [(answer: String, status: Int, wait: String?)] = [
            ("200 OK\r\nContent-Type: message/ohttp-res", 200, nil),
            ("400 Bad Request\r\n\(problem)X: y", 400, nil),
            ("429 Too Many Requests\r\n\(problem)Retry-After: 7", 429, "7"),
            ("503 Service Unavailable\r\n\(problem)Retry-After: 9", 503, "9"),
        ]
        for expected in cases {
            answer.update {
                $0 = "HTTP/1.1 \(expected.answer)\r\nContent-Length: 3\r\n\r\nyes"
            }
            let response = try Self.send(Self.post(), to: relay)
            #expect(response.status == expected.status, "\(expected.answer)")
            #expect(response["retry-after"] == expected.wait, "\(expected.answer)")
            #expect(response.body == Array("yes".utf8), "\(expected.answer)")
        }
        #expect(await relay.stop() == 0)
        #expect(asked.value.count == cases.count)
        for request in asked.value {
            #expect(request.path == "/v1/oblivious" && request.body.count == 2103)
            let names = request.head.split(separator: "\r\n").dropFirst().map {
                $0.prefix { $0 != ":" }.lowercased()
            }
            #expect(names.sorted() == ["content-length", "content-type", "host"])
            #expect(request["host"] == "wake.example.org")
        }
    }

    @Test("scripts of web pages may send, and read every answer")
    func pages() async throws {
        let gateway = try WireServer { peer in
            guard WireRequest(from: peer) != nil else { return }
            let fields = "Access-Control-Allow-Origin: https://x.example\r\nContent-Length: 0"
            _ = try? peer.send("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n")
        }
        defer { gateway.refuse() }
        let relay = try await ObliviousRelay(to: gateway.url + "/v1/oblivious")
        let question = try Self.send(
            "OPTIONS / HTTP/1.1\r\nHost: a\r\nOrigin: https://app.example.org\r\n"
                + "Access-Control-Request-Method: POST\r\n"
                + "Access-Control-Request-Headers: content-type\r\n\r\n", to: relay)
        #expect(question.status == 204 && question["access-control-allow-origin"] == "*")
        #expect(question["access-control-allow-headers"] == "Content-Type")
        for request in [Self.post(), Self.post(5000), "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"] {
            let answer = try Self.send(request, to: relay)
            #expect(answer["access-control-allow-origin"] == "*", "\(answer.status)")
            #expect(answer["access-control-expose-headers"] == "Retry-After")
        }
        #expect(await relay.stop() == 0)
    }

    @Test("refuses in JSON, and holds each network to its number a minute")
    func refusals() async throws {
        let gateway = try WireServer { peer in
            while WireRequest(from: peer) != nil {
                guard (try? peer.send("HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n")) != nil else {
                    return
                }
            }
        }
        let relay = try await ObliviousRelay(to: gateway.url + "/v1/oblivious", isLimited: true)
        for (request, status, code) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed"),
            ("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", 404, "not_found"),
            (Self.post(5000), 413, "content_too_large"),
        ] {
            let response = try Self.send(request, to: relay)
            #expect(response.status == status, "\(request.prefix(20))")
            #expect(String(decoding: response.body, as: UTF8.self).contains("\"\(code)\""))
        }
        // 61 at once; on a slow machine one more each second.
        var passed = 0
        var last = try Self.send(Self.post(), to: relay)
        while last.status == 400, passed < 1000 {
            passed += 1
            last = try Self.send(Self.post(), to: relay)
        }
        #expect((55..<1000).contains(passed))
        #expect(last.status == 429 && last["retry-after"] == "60")
        #expect(String(decoding: last.body, as: UTF8.self).contains("\"relay_busy\""))
        gateway.refuse()
        await relay.stop()
    }

    @Test("writes down no address")
    func silent() async throws {
        let place = try await ObliviousPlace()
        let client = try await place.client()
        #expect(try await client.register(TestDevice()) == 0)
        #expect(try await client.command("unregister").status == 0)
        await place.relay.stop()
        let files = try FileSnapshot.files(below: place.relay.directory.path)
        let written = files.filter { name, _ in !name.hasSuffix("nginx.conf") }
        #expect(written.values.allSatisfy { $0.range(of: Data("127.0.0.1".utf8)) == nil })
    }
}
