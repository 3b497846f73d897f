import Foundation
import TestSupport
import Testing

@Suite("A service that one client tries to fill", .timeLimit(.minutes(5)))
struct CrowdTests {
    /// What a client sends that holds a connection: nothing, half a head, half a body, and requests
    /// whose answers it does not read.
    private static let held: [String] = [
        "", "PUT /v1/reg", "PUT /v1/registration HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
        String(repeating: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", count: 64),
    ]

    private func others(_ service: ServiceUnderTest) async throws {
        for _ in 0..<10 {
            let device = TestDevice()
            let put = try service.send(
                "PUT", "/v1/registration", token: device.token, body: device.body)
            let delete = try service.send("DELETE", "/v1/registration", token: device.token)
            #expect(put.status == 204 && delete.status == 204)
        }
        let status = try await service.command("status")
        #expect(status.status == 0, "\(status.output)")
    }

    @Test("a client with every connection keeps nobody from registering and deleting")
    func connections() async throws {
        let service = try await ServiceUnderTest(extra: "connections = 64\nstreams = 64")
        var crowd: [LoopbackClient] = []
        for index in 0..<200 {
            let client = try LoopbackClient(port: service.port, receiveBuffer: 4096)
            try? client.send(Self.held[index % Self.held.count])
            crowd.append(client)
        }
        try await others(service)
        withExtendedLifetime(crowd) {}
    }

    @Test("a client with every event stream keeps nobody from registering and deleting")
    func streams() async throws {
        let service = try await ServiceUnderTest(extra: "connections = 64\nstreams = 64")
        var streams: [LoopbackClient] = []
        var refused = 0
        for _ in 0..<64 {
            let client = try LoopbackClient(port: service.port)
            try client.send("GET /v1/wakes HTTP/1.1\r\nHost: x\r\n\r\n")
            let head = try client.receive(through: "\r\n\r\n")
            if head.hasPrefix("HTTP/1.1 200") { streams.append(client) } else { refused += 1 }
        }
        #expect(streams.count == 48 && refused == 16)
        try await others(service)
        let check = try await service.command("check")
        #expect(check.output.contains("event streams, at most 48\n"), "\(check.output)")
        #expect(check.output.contains("a quarter of the connections is kept"), "\(check.output)")
        #expect(check.output.contains("address caps    off\n                warning: clients come"))
    }

    @Test("more connections than the process may open are refused by check and by the start")
    func limits() async throws {
        let service = try await ServiceUnderTest(serving: .nothing)
        #expect(await service.stop() == 0)
        for (limit, words) in [("1400", "connections = 1000"), ("64", "")] {
            let text = try String(contentsOfFile: service.configuration, encoding: .utf8)
            try text.replacing("[http]\n", with: "[http]\n\(words)\n").write(
                toFile: service.configuration, atomically: true, encoding: .utf8)
            let program = RunningProgram.folder.appending(path: "reveille").path
            for word in ["check", "serve"] {
                let refused = try await RunningProgram.run(
                    path: "/bin/sh",
                    [
                        "-c", "ulimit -n \(limit) && exec \"$0\" \"$@\"", program, word, "--config",
                        service.configuration,
                    ])
                #expect(refused.status == 78, "\(word): \(refused.output)")
                #expect(
                    refused.output.contains(
                        "are more than the \(limit) that this process may open"),
                    "\(word): \(refused.output)")
            }
            try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
        }
    }
}
