import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "Behind nginx as Deploy/nginx.conf has it",
    .enabled(if: FrontUnderTest.program != nil, "nginx is not installed (apt: nginx-light)"),
    .timeLimit(.minutes(5)))
struct FrontTests {
    /// An address of the loopback net that nothing else here uses.
    private static let address = "127.73.41.9"

    @Test("a registration over TLS arrives, and nginx writes down neither address nor token")
    func registration() async throws {
        let service = try await ServiceUnderTest(listen: "unix:http.sock")
        let front = try await FrontUnderTest(before: service.directory.path + "/service/http.sock")
        let device = TestDevice()
        #expect(try await curl(front, "PUT", device, body: device.body) == "204")
        #expect(try service.rows() == 1)
        let stored = try await curl(front, "GET", device)
        #expect(stored.contains(device.pushText) && stored.hasSuffix("200"))
        // What nginx refuses by itself, and what it can only log.
        let long = Array(repeating: UInt8(ascii: "x"), count: 5000)
        #expect(try await curl(front, "PUT", device, body: long).hasSuffix("413"))
        let plain = arguments(front, "/").dropLast() + ["http://127.0.0.1:\(front.port)/"]
        let answer = try await RunningProgram.run(path: "/usr/bin/curl", Array(plain))
        #expect(answer.output.contains("plain HTTP request was sent to HTTPS port"))
        #expect(try await curl(front, "DELETE", device) == "204")
        #expect(try service.rows() == 0)
        #expect(await service.stop() == 0)
        #expect(try await curl(front, "GET", device).hasSuffix("502"))
        #expect(await front.stop() == 0)
        #expect(try traces(of: device, in: front) == [])
    }

    @Test("the search is not blind: with its two lines taken out, nginx does write the address")
    func control() async throws {
        let service = try await ServiceUnderTest(listen: "unix:http.sock")
        let front = try await FrontUnderTest(
            before: service.directory.path + "/service/http.sock"
        ) { text in
            text.replacing("access_log off;", with: "access_log access.log;")
                .replacing("error_log /dev/null crit;", with: "error_log error.log info;")
        }
        let device = TestDevice()
        #expect(await service.stop() == 0)
        #expect(try await curl(front, "GET", device).hasSuffix("502"))
        #expect(await front.stop() == 0)
        #expect(try traces(of: device, in: front) == ["access.log", "error.log"])
    }

    @Test("whoever asks for every event stream there keeps nobody else from registering")
    func crowd() async throws {
        let service = try await ServiceUnderTest(listen: "unix:http.sock")
        let front = try await FrontUnderTest(
            before: service.directory.path + "/service/http.sock"
        ) { $0.replacing(" ssl backlog", with: " backlog") }
        var streams: [LoopbackClient] = []
        var refused = 0
        for _ in 0..<800 {
            let client = try LoopbackClient(port: front.port)
            try client.send("GET /v1/wakes HTTP/1.1\r\nHost: x\r\n\r\n")
            let head = try client.receive(through: "\r\n\r\n")
            if head.hasPrefix("HTTP/1.1 503") { refused += 1 }
            streams.append(client)
        }
        #expect(refused == 800 - 32)
        for _ in 0..<10 {
            let device = TestDevice()
            for method in ["PUT", "DELETE"] {
                let body = method == "PUT" ? device.body : []
                #expect(try await curl(front, method, device, body: body, "http") == "204")
            }
        }
        #expect(await front.stop() == 0)
    }

    @Test("wakes pass through it as they are sent, and the feed byte by byte")
    func stream() async throws {
        let service = try await ServiceUnderTest(listen: "unix:http.sock")
        let front = try await FrontUnderTest(before: service.directory.path + "/service/http.sock")
        let stream = try RunningProgram(
            path: "/usr/bin/curl", arguments(front, "/v1/wakes") + ["--no-buffer"])
        _ = try await stream.line(containing: "data: 0")
        _ = try await service.publish([TestDevice().pushText], notes: [], "--then-broadcast")
        _ = try await stream.line(containing: "data: 1")
        stream.signal(SIGTERM)
        let path = front.directory.path + "/fetched"
        let head = try await RunningProgram.run(
            path: "/usr/bin/curl", arguments(front, "/feed/head") + ["-o", path])
        #expect(head.status == 0)
        let file = service.directory.path + "/service/feed/head"
        #expect(FileManager.default.contentsEqual(atPath: path, andPath: file))
        #expect(await front.stop() == 0)
    }

    /// The files of nginx that hold the address or anything of the device.
    private func traces(of device: TestDevice, in front: FrontUnderTest) throws -> [String] {
        let needles = device.forms + [Array(Self.address.utf8)]
        return try front.traces().filter { _, bytes in
            needles.contains { bytes.range(of: Data($0)) != nil }
        }.map(\.key).sorted()
    }

    private func arguments(
        _ front: FrontUnderTest, _ path: String, _ scheme: String = "https"
    ) -> [String] {
        [
            "--silent", "--show-error", "--noproxy", "*", "--cacert", front.certificate,
            "--interface", Self.address, "--connect-to", "::127.0.0.1:",
            scheme + front.url.dropFirst("https".count) + path,
        ]
    }

    /// - Returns: the body and after it the status.
    private func curl(
        _ front: FrontUnderTest, _ method: String, _ device: TestDevice, body: [UInt8] = [],
        _ scheme: String = "https"
    ) async throws -> String {
        var words = arguments(front, "/v1/registration", scheme)
        words += ["-H", "Content-Type: application/json"]
        words += ["-X", method, "-H", "Authorization: Bearer \(device.token)"]
        words += ["--write-out", "%{http_code}"]
        if !body.isEmpty { words += ["--data-binary", "@-"] }
        return try await RunningProgram.run(path: "/usr/bin/curl", words, input: body).output
    }
}
