import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

/// What a delete promises holds while a round reads and deletes in the same files.
@Suite(
    "Forgotten means gone, in a round too", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RoundErasureTests {
    /// The database, its log, and what lies beside them, but for zeros that hold room on the disk.
    private func files(_ place: PushingService) -> [[UInt8]] {
        StorePlace.names(in: place.service.data).filter { $0 != "reserve" }
            .map { StorePlace.bytes(of: place.service.data + "/" + $0) }
    }

    private func hits(_ patterns: [[UInt8]], _ place: PushingService) -> Int {
        let files = files(place)
        return patterns.count { pattern in files.contains { $0.holds(pattern) } }
    }

    @Test("when a delete is answered within a round, no file holds anything of the row")
    func delete() async throws {
        let held = try HeldAnswers()
        let place = try await PushingService(
            .init(held, "--latency", "100", "--answer-token", "dead:410:Unregistered"))
        try await place.restart(broadcast: "fetches-per-second = 0", filled: 2000)
        let devices = (0..<20).map { _ in TestDevice(pushPrefix: [0]) }
        // Rows that the round deletes by itself meanwhile.
        try place.register(devices + (0..<40).map { _ in TestDevice(pushPrefix: [0xDE, 0xAD]) })
        let client = try LoopbackClient(port: place.service.port)
        try await place.startRound()
        var longestLog = 0
        for (number, device) in devices.enumerated() {
            let permille = number * 800 / devices.count
            // 80 more, for rows are not spread quite evenly over what is progress.
            try held.allow(2060 * (permille + 80) / 1000)
            let progress = try await place.progress {
                $0.run == 1 && ($0.permille >= permille || !$0.running)
            }
            #expect(progress.running, "the round was over after \(number) deletes")
            let answer = try client.exchange("GET", "/v1/registration", token: device.token)
            let stored = try #require(try RegistrationResponse.decode(answer.body).stored)
            // Any 24 bytes of the sealed column would betray it.
            let pieces = stride(from: 0, through: stored.sealed.count - 24, by: 24).map {
                Array(stored.sealed[$0..<$0 + 24])
            }
            #expect(hits([stored.id, stored.sealed], place) == 2)
            let deleted = try client.exchange("DELETE", "/v1/registration", token: device.token)
            #expect(deleted.status == 204)
            #expect(hits([stored.id] + pieces, place) == 0)
            let log = StorePlace.bytes(of: place.service.data + "/generation-1.db-wal").count
            longestLog = max(longestLog, log)
        }
        try held.release()
        #expect(longestLog < 32 << 20)
        let ended = try await place.service.program.line(containing: "broadcast-ended run=1 ")
        #expect(ended.contains(" gone=40 deleted=40 "), "\(ended)")
        #expect(try !place.registered(devices).contains(true))
        #expect(try place.service.rows() == 2000)
        #expect(try await place.mock.report().duplicates == 0)
    }

    @Test("3 % gone, spread evenly, are all forgotten, and counted right")
    func spread() async throws {
        let place = try await PushingService(.init("--answer-token", "dead:410:Unregistered"))
        try await place.restart(broadcast: "fetches-per-second = 0", filled: 5820)
        try place.register((0..<180).map { _ in TestDevice(pushPrefix: [0xDE, 0xAD]) })
        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        #expect(
            output.contains(
                "pushes to 6000 registrations: 5820 accepted, 180 gone, 180 forgotten for it\n"))
        #expect(try place.service.rows() == 5820)
    }
}
