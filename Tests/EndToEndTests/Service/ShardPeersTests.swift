import Foundation
import TestSupport
import Testing
import WakeModel

@Suite("Shards that a deletion is handed on to", .timeLimit(.minutes(5)))
struct ShardPeersTests {
    private static func cluster(_ peers: String...) -> String {
        "\n[cluster]\nlisten = unix:peers.sock\npeers = \(peers.joined(separator: ", "))\n"
    }

    private func status(
        _ method: String, _ device: TestDevice, _ service: ServiceUnderTest
    ) throws -> (status: Int, text: String) {
        let client = try LoopbackClient(port: service.port)
        let answer = try client.exchange(
            method, "/v1/registration", token: device.token,
            body: method == "PUT" ? device.body : [])
        return (answer.status, answer.text)
    }

    @Test("the own row is erased and 503 said where one is away, wrong, or not a shard")
    func wrong() async throws {
        let asked = Observed<[WireRequest]>([])
        let answer = Observed("")
        let peer = try WireServer { peer in
            guard let request = WireRequest(from: peer) else { return }
            asked.update { $0.append(request) }
            _ = try? peer.send(answer.value)
        }
        defer { peer.refuse() }
        let service = try await ServiceUnderTest(
            sections: Self.cluster("unix:peers.sock", "http://127.0.0.1:\(peer.port)"))
        let device = TestDevice()
        for (text, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 503),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 503),
            ("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n", 503),
            ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", 503),
            ("\u{0}\u{1}what", 503), ("", 503), ("HTTP/1.1 204 No Content\r\n\r\n", 204),
        ] {
            #expect(try status("PUT", device, service).status == 204)
            answer.update { $0 = text }
            let deleted = try status("DELETE", device, service)
            #expect(deleted.status == expected, "\(text)")
            if expected == 503 { #expect(deleted.text.contains("store_unavailable")) }
            #expect(try service.rows() == 0)
            let screen = try await service.command("status").output
            #expect(screen.contains("shard-away") == (expected == 503), "\(screen)")
        }
        for request in asked.value {
            #expect(request.method == "DELETE" && request.path == "/v1/cluster/registration")
            #expect(request["authorization"] == "Bearer \(device.token)")
            #expect(request.body.isEmpty)
        }
        // Nothing but deletions.
        #expect(asked.value.count == 7)
        #expect(await service.stop() == 0)
        #expect(!service.program.output.contains(device.token))
    }

    @Test("one that never answers is waited for no longer than its time")
    func silent() async throws {
        let held = Observed(0)
        let peer = try WireServer { peer in
            held.update { $0 += 1 }
            _ = try? peer.receiveAll()
        }
        defer { peer.refuse() }
        let service = try await ServiceUnderTest(
            sections: Self.cluster("http://127.0.0.1:\(peer.port)"))
        let devices = (0..<8).map { _ in TestDevice() }
        let waiting = try devices.map { device in
            #expect(try status("PUT", device, service).status == 204)
            let client = try LoopbackClient(port: service.port)
            try client.send(
                "DELETE /v1/registration HTTP/1.1\r\nHost: wake\r\n"
                    + "Authorization: Bearer \(device.token)\r\n\r\n")
            return client
        }
        for client in waiting { #expect(try client.receiveResponse().status == 503) }
        #expect(held.value == 8)
        #expect(try service.rows() == 0)
        #expect(await service.stop() == 0)
    }

    @Test("an address that leads back to the service's own front is no loop, and no shard")
    func loop() async throws {
        let reserved = try WireServer.reservedPort()
        let service = try await ServiceUnderTest(
            listen: "127.0.0.1:\(reserved.port)",
            sections: Self.cluster("http://127.0.0.1:\(reserved.port)"))
        #expect(try status("DELETE", TestDevice(), service).status == 503)
        let numbers = try await service.command("status", "--json").output
        // The deletion, the one handed on, to which a 404 came back, and this question.
        #expect(numbers.contains("\"requests\":3,"), "\(numbers)")
        #expect(await service.stop() == 0)
    }

    @Test("at their listener they take deletions alone, and hand nothing on")
    func listener() async throws {
        let asked = Observed(0)
        let other = try WireServer { peer in
            _ = WireRequest(from: peer)
            asked.update { $0 += 1 }
        }
        defer { other.refuse() }
        let service = try await ServiceUnderTest(
            sections: Self.cluster("http://127.0.0.1:\(other.port)"))
        let socket = service.directory.path + "/service/peers.sock"
        let device = TestDevice()
        #expect(try status("PUT", device, service).status == 204)
        for (method, path, expected) in [
            ("GET", "/v1/cluster/registration", 405), ("GET", "/health", 404),
            ("PUT", "/v1/cluster/registration", 405), ("DELETE", "/v1/registration", 404),
            ("DELETE", "/v1/cluster/registration?a", 404),
        ] {
            let client = try LoopbackClient(path: socket)
            let answer = try client.exchange(
                method, path, token: device.token, body: method == "PUT" ? device.body : [])
            #expect(answer.status == expected, "\(method) \(path)")
        }
        #expect(try service.rows() == 1)
        let client = try LoopbackClient(path: socket)
        try client.send("DELETE /v1/cluster/registration HTTP/1.1\r\nHost: shard\r\n\r\n")
        #expect(try client.receiveResponse().status == 401)
        let path = "/v1/cluster/registration"
        #expect(try client.exchange("DELETE", path, token: device.token).status == 204)
        #expect(try service.rows() == 0 && asked.value == 0)
        // The public listener knows nothing of it.
        let open = try LoopbackClient(port: service.port)
        #expect(try open.exchange("DELETE", path, token: device.token).status == 404)
        #expect(await service.stop() == 0)
    }
}
