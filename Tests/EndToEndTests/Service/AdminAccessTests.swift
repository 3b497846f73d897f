import Foundation
import TestSupport
import Testing

@Suite("The admin listener", .timeLimit(.minutes(5)))
struct AdminAccessTests {
    private static let body =
        "{\"violations\":0,\"sha256\":\"\(String(repeating: "0", count: 64))\"}"

    /// A service whose admin listener is on TCP, and that port.
    private func overTCP() async throws -> (ServiceUnderTest, WireServer) {
        let service = try await ServiceUnderTest()
        #expect(await service.stop() == 0)
        let reserved = try WireServer.reservedPort()
        let token = service.directory.path + "/service/keys/admin.token"
        let made = try await RunningProgram.run("reveille", ["keygen", "--kind", "admin", token])
        #expect(made.status == 0 && made.output == "token = \(token)\n", "\(made.output)")
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8).replacing(
            "listen = unix:admin.sock",
            with: "listen = 127.0.0.1:\(reserved.port)\ntoken = keys/admin.token")
        try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
        try await service.restart()
        return (service, reserved)
    }

    private func status(
        _ client: LoopbackClient, _ fields: String, body: String = body
    ) throws -> (Int, String) {
        try client.send(
            "PUT /v1/audit HTTP/1.1\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let response = try client.receiveResponse()
        return (response.status, response.text)
    }

    @Test("a page in a browser is refused on every one, whatever it sends")
    func browsers() async throws {
        let service = try await ServiceUnderTest()
        let own = "Host: localhost\r\n"
        let json = "Content-Type: application/json\r\n"
        for (fields, wanted, code) in [
            (own + json, 204, ""), ("Host: 127.0.0.1:8081\r\n" + json, 204, ""),
            ("Host: [::1]\r\n" + json, 204, ""), ("Host: 127.8.0.9\r\n" + json, 204, ""),
            ("Host: 127.evil.example\r\n" + json, 403, "browser_refused"),
            (own + json + "Origin: null\r\n", 403, "browser_refused"),
            (own + json + "Origin: http://localhost\r\n", 403, "browser_refused"),
            ("Host: evil.example\r\n" + json, 403, "browser_refused"),
            ("Host: localhost.evil.example\r\n" + json, 403, "browser_refused"),
            (own + "Content-Type: text/plain\r\n", 415, "content_type_unsupported"),
            (own, 415, "content_type_unsupported"),
            (own + json + "Content-Encoding: gzip\r\n", 415, "content_encoding"),
        ] {
            let client = try LoopbackClient(
                path: service.directory.path + "/service/admin.sock")
            let (status, text) = try status(client, fields)
            #expect(
                status == wanted && (code.isEmpty || text.contains(code)),
                "\(fields) \(status) \(text)")
        }
    }

    @Test("over TCP it wants the token of a private file, which the commands send")
    func token() async throws {
        let (service, reserved) = try await overTCP()
        let path = service.directory.path + "/service/keys/admin.token"
        let token = try String(contentsOfFile: path, encoding: .utf8).dropLast()
        let fields = "Host: localhost\r\nContent-Type: application/json\r\n"
        for (value, wanted) in [
            ("", 401), ("Bearer \(token)", 204), ("bearer \(token)", 204),
            ("Bearer \(token.dropLast())", 401), ("Bearer \(token)A", 401), ("Bearer ", 401),
            ("Basic \(token)", 401), ("Bearer \(String(token.reversed()))", 401),
        ] {
            let client = try LoopbackClient(port: reserved.port)
            let authorization = value.isEmpty ? "" : "Authorization: \(value)\r\n"
            let (status, text) = try status(client, fields + authorization)
            #expect(status == wanted, "\(value.count) \(text)")
            #expect(!text.contains(token))
        }
        #expect(try await service.command("status").status == 0)
        #expect(try await service.command("rotate", "--dry-run").status == 0)
        #expect(!service.program.output.contains(token))
        let check = try await service.command("check")
        #expect(check.output.contains("127.0.0.1:\(reserved.port), token "))

        // Another file than the service has read, and one that others can read.
        _ = try FileManager.default.removeItem(atPath: path)
        _ = try await RunningProgram.run("reveille", ["keygen", "--kind", "admin", path])
        let other = try await service.command("status")
        #expect(other.status == 78 && other.output.contains("another token"), "\(other.output)")
        service.program.signal(SIGHUP)
        _ = try await service.program.line(containing: "reloaded keys=1 gateways=0 restart=0")
        #expect(try await service.command("status").status == 0)
        let client = try LoopbackClient(port: reserved.port)
        let former = "Authorization: Bearer \(token)\r\n"
        #expect(try status(client, fields + former).0 == 401)
        // From TCP to a socket, without a token: until the restart the listener keeps both.
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        let moved = text.replacing(
            "listen = 127.0.0.1:\(reserved.port)\ntoken = keys/admin.token",
            with: "listen = unix:admin.sock")
        try moved.write(toFile: service.configuration, atomically: true, encoding: .utf8)
        service.program.signal(SIGHUP)
        _ = try await service.program.line(containing: "restart-needed section=admin key=listen")
        let bare = try LoopbackClient(port: reserved.port)
        #expect(try status(bare, fields).0 == 401)
        try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        for word in ["status", "check", "serve"] {
            let refused = try await service.command(word)
            #expect(refused.status == 78, "\(word): \(refused.output)")
            #expect(refused.output.contains("the file can be read by others"), "\(refused.output)")
        }
    }
}
