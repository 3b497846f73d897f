import Foundation
import TestSupport
import Testing

@Suite(
    "The relay, asked by a client that is not ours", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"),
    .enabled(if: PythonPeer.isInstalled, "needs python3 with cryptography"))
struct RelayPythonTests {
    @Test("wakes a thousand, and is refused beyond its budget with the time to wait")
    func thousand() async throws {
        let place = try await RelayOwner(
            ["--answer-token", "ee:410:Unregistered"], relay: "wakes-per-minute = 1200")
        try await place.allow()
        try await PythonPeer.wait(for: place.address)
        let devices =
            (0..<990).map { _ in TestDevice(pushPrefix: [0x11]) }
            + (0..<10).map { _ in TestDevice(pushPrefix: [0xEE]) }
        let body = PythonPeer.body(devices)
        #expect(
            try await PythonPeer.send(body, to: place.address)
                == "200 1000 {\"accepted\": 990, \"gone\": 10}\n")
        let refused = try await PythonPeer.send(body, to: place.address).split(separator: " ")
        #expect(refused.prefix(2) == ["429", "relay_busy"])
        let seconds = try #require(Int(refused[2].dropLast()))
        #expect((1...60).contains(seconds))
        let report = try await place.mock.report()
        #expect(report.distinct == 991 && report.violations == [:])
    }

    @Test("its requests pass once, whole, and not after a restart")
    func recorded() async throws {
        let place = try await RelayOwner()
        try await place.allow()
        try await PythonPeer.wait(for: place.address)
        let body = PythonPeer.body([TestDevice()])
        func send(_ wire: [UInt8]) throws -> (status: Int, text: String) {
            let client = try LoopbackClient(port: place.place.port)
            try client.send(wire)
            let head = try client.receive(through: "\r\n\r\n")
            let response = try #require(WireResponse(head: head))
            if response.status == 200 {
                return (200, String(decoding: try client.receiveChunks(), as: UTF8.self))
            }
            let count = response["Content-Length"].flatMap { Int($0) } ?? 0
            let content = try client.receive(exactly: count)
            return (response.status, String(decoding: content, as: UTF8.self))
        }
        let recorded = try await PythonPeer.sign(body, for: place.address)
        #expect(
            try send(recorded)
                == (200, "{\"wake\":0,\"delivery\":\"accepted\"}\n{\"done\":1}\n"))
        #expect(try send(recorded).text.contains("\"code\":\"signature_replayed\""))
        var altered = try await PythonPeer.sign(body, for: place.address)
        altered[altered.count - 10] ^= 1
        #expect(try send(altered).text.contains("\"code\":\"signature_wrong\""))
        let elsewhere = try await PythonPeer.sign(body, for: "wake.example.org")
        #expect(try send(elsewhere).text.contains("\"code\":\"signature_wrong\""))
        let unseen = try await PythonPeer.sign(body, for: place.address)
        #expect(await place.owner.stop() == 0)
        try await place.owner.restart()
        for wire in [recorded, unseen] {
            #expect(try send(wire).text.contains("\"code\":\"signature_stale\""))
        }
        #expect(try await place.mock.report().delivered == 2)
    }

    @Test("a damaged list lets nobody through, and a stranger hears what the revoked hear")
    func damaged() async throws {
        let place = try await RelayOwner()
        let body = PythonPeer.body([TestDevice()])
        let unknown = "403 installation_unknown None\n"
        #expect(try await PythonPeer.send(body, to: place.address) == unknown)
        try await place.allow()
        try await PythonPeer.wait(for: place.address)
        #expect(try await PythonPeer.send(body, to: place.address).hasPrefix("200 1 "))
        let file = URL(filePath: place.owner.directory.path + "/service/keys/installations")
        let whole = try Data(contentsOf: file)
        try (whole + Data("half".utf8)).write(to: file)
        #expect(
            try await PythonPeer.send(body, to: place.address) == "503 relay_unavailable 60\n")
        let list = try await place.owner.command("relay", "list")
        #expect(list.status == 65 && list.output.contains("is damaged"), "\(list.output)")
        let allow = try await place.owner.command(
            "relay", "allow", "other", String(repeating: "A", count: 42) + "E")
        #expect(allow.status != 0)
        try whole.write(to: file)
        #expect(try await PythonPeer.send(body, to: place.address).hasPrefix("200 1 "))
        _ = try await place.owner.program.line(
            containing: "error relay-installations-unusable")
    }

    @Test("is not there where no section turns it on")
    func off() async throws {
        let service = try await ServiceUnderTest()
        let authority = "127.0.0.1:\(service.port)"
        #expect(
            try await PythonPeer.send(PythonPeer.body([TestDevice()]), to: authority)
                == "404 not_found None\n")
        let large = PythonPeer.body((0..<1_000).map { _ in TestDevice() })
        let wire = try await PythonPeer.sign(large, for: authority)
        let client = try LoopbackClient(port: service.port)
        try client.send(Array(wire.prefix(2_000)))
        #expect(try client.receiveResponse().status == 413)
    }
}
