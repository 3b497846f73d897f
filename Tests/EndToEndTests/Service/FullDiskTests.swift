import Foundation
import TestSupport
import Testing
import WakeModel

@Suite("The service on a full disk", .timeLimit(.minutes(5)))
struct FullDiskTests {
    private static let path = "/v1/registration"

    @Test("registrations 507, deletes 204, broadcasts, rotations erase, and with room it goes on")
    func full() async throws {
        let service = try await ServiceUnderTest()
        let devices = (0..<160).map { _ in TestDevice() }
        let rows = try register(devices, service)
        #expect(await service.stop() == 0)
        guard try await service.restart(within: "40m") else {
            try Test.cancel("needs the right to mount a tmpfs in a namespace of its own")
        }
        // The control: the disk it sees has the rows.
        #expect(StorePlace.hits(rows, in: service.dataWithin) == rows.count)
        let hog = service.dataWithin + "/hog"
        #expect(try Self.fill(hog) > 0)

        let client = try LoopbackClient(port: service.port)
        for _ in 0..<20 {
            let new = TestDevice()
            let answer = try client.exchange("PUT", Self.path, token: new.token, body: new.body)
            #expect(answer.status == 507)
            #expect(answer.text.contains("\"code\":\"store_full\""), "\(answer.text)")
        }
        for (index, device) in devices.enumerated() where index < 100 {
            let answer = try client.exchange("DELETE", Self.path, token: device.token)
            #expect(answer.status == 204)
            guard index.isMultiple(of: 5) else { continue }
            let traces = device.forms + [rows[index]]
            #expect(StorePlace.hits(traces, in: service.dataWithin) == 0)
        }
        // To the last byte again, whatever the deletes gave back.
        _ = try Self.fill(hog + "-too")
        // Its state is written in room of the reserve.
        for _ in 0..<2 {
            let woken = try await service.command("broadcast", "--force")
            #expect(woken.status == 0, "\(woken.output)\n\(service.program.output)")
            #expect(woken.output.contains("60 accepted"), "\(woken.output)")
            _ = try Self.fill(hog + "-three")
        }
        for generation in 2...3 {
            let rotated = try await service.command("rotate", "--now", "--yes")
            #expect(rotated.status == 0, "\(rotated.output)\n\(service.program.output)")
            #expect(rotated.output.contains("generation \(generation) is current"))
        }
        #expect(StorePlace.hits(rows, in: service.dataWithin) == 0)
        _ = try await service.program.line(containing: "rotated generation=3 dropped=60")

        for file in ["", "-too", "-three"] {
            try FileManager.default.removeItem(atPath: hog + file)
        }
        _ = try register(devices, service)
        #expect(await service.stop() == 0)
    }

    /// - Returns: the sealed column of each.
    private func register(
        _ devices: [TestDevice], _ service: ServiceUnderTest
    ) throws -> [[UInt8]] {
        let client = try LoopbackClient(port: service.port)
        return try devices.map { device in
            let put = try client.exchange(
                "PUT", Self.path, token: device.token, body: device.body)
            #expect(put.status == 204)
            let access = try client.exchange("GET", Self.path, token: device.token)
            return try #require(try RegistrationResponse.decode(access.body).stored).sealed
        }
    }

    /// Takes all room there is.
    /// - Returns: bytes.
    private static func fill(_ path: String) throws -> Int {
        let file = unsafe open(path, O_WRONLY | O_CREAT, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 4096)
        var total = 0
        while true {
            let count = unsafe zeros.withUnsafeBytes { unsafe write(file, $0.baseAddress, 4096) }
            guard count > 0 else { return total }
            total += count
        }
    }
}
