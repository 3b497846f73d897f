import Foundation
import TestSupport
import Testing

@Suite(
    "Audits beside a service at work", .timeLimit(.minutes(30)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct AuditBesideTests {
    /// More with `REVEILLE_LONG=1`.
    private static let audits =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 20 : 200

    /// What goes on beside an audit, again and again.
    private enum Beside: CaseIterable {
        case load, rotations, broadcasts
    }

    private static func work(
        _ beside: Beside, _ devices: [TestDevice], _ port: UInt16, _ configuration: String
    ) async throws {
        switch beside {
        case .load: try await BlockingExecutor.run { try load(devices, port) }
        case .rotations:
            let status = try await command("rotate", "--now", "--yes", for: configuration)
            #expect(status == 0)
        case .broadcasts:
            let status = try await command("broadcast", "--force", for: configuration)
            // 1: it raised the alarm that nobody accepted a push.
            #expect([0, 1].contains(status))
        }
    }

    private static func command(
        _ words: String..., for configuration: String
    ) async throws -> Int32 {
        try await RunningProgram.run("reveille", words + ["--config", configuration]).status
    }

    /// Renews some, and deletes one.
    private static func load(_ devices: [TestDevice], _ port: UInt16) throws {
        let client = try LoopbackClient(port: port)
        let path = "/v1/registration"
        for device in devices {
            let put = try client.exchange("PUT", path, token: device.token, body: device.body)
            #expect(put.status == 204)
        }
        let delete = try client.exchange("DELETE", path, token: devices.first?.token)
        #expect(delete.status == 204)
    }

    @Test("raise no false alarm in any case, and end with a verdict unless rotations come")
    func alarms() async throws {
        // No push arrives: a token gets three an hour, and the fourth broadcast would wait.
        let pushing = try await PushingService(.init("--answer-all", "410:Unregistered"))
        let devices = (0..<600).map { _ in TestDevice() }
        try pushing.register(devices)
        let configuration = pushing.service.configuration
        let port = pushing.service.port
        let keys = pushing.service.directory.path + "/service/keys/registration.key"
        for number in 0..<Self.audits {
            let beside = Beside.allCases[number % Beside.allCases.count]
            let isOver = Observed(false)
            let work = Task {
                while !isOver.value { try await Self.work(beside, devices, port, configuration) }
            }
            let audit = try await pushing.service.command(
                "audit", pushing.service.data, "--keys", keys)
            isOver.update { $0 = true }
            try await work.value
            // 4: a file came or went during each attempt.
            let allowed: [Int32] = beside == .rotations ? [0, 4] : [0]
            #expect(allowed.contains(audit.status), "beside \(beside): \(audit.output)")
        }
        let logs = try await pushing.service.command(
            "audit", pushing.service.data, "--logs", "-",
            input: Array(pushing.service.program.output.utf8))
        #expect(logs.status == 0, "\(logs.output)")
        #expect(await pushing.service.stop() == 0)
    }

    @Test("nor beside one that is killed at any moment, also of a rotation, and starts again")
    func kills() async throws {
        let service = try await ServiceUnderTest()
        let devices = (0..<300).map { _ in TestDevice() }
        try Self.load(devices, service.port)
        // The directory: what a kill leaves beside the key file is declared, too.
        let keys = service.directory.path + "/service/keys"
        let words = ["audit", service.data, "--keys", keys]
        // Each takes several attempts, and kills.
        let audits = Self.audits / 4
        var kills = 0
        for number in 0..<audits {
            let audit = try RunningProgram(
                "reveille", words + ["--config", service.configuration])
            while audit.end == nil {
                let port = service.port
                let load = Task.onThread { try? Self.load(devices, port) }
                let rotation = try RunningProgram(
                    "reveille", ["rotate", "--now", "--yes", "--config", service.configuration])
                for _ in 0..<Int.random(in: 0...100) { _ = try? service.send("GET", "/health") }
                await service.kill()
                await load.value
                _ = await rotation.exit()
                try await service.restart()
                kills += 1
            }
            // 4: a kill or a rotation came during each attempt.
            let status = await audit.exit()
            #expect([0, 4].contains(status), "audit \(number): \(audit.output)")
        }
        #expect(kills >= audits)
        #expect(await service.stop() == 0)
        let last = try await service.command(words[0], words[1], words[2], words[3])
        #expect(last.status == 0, "\(last.output)")
    }
}
