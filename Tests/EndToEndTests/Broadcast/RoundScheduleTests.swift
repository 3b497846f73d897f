import Foundation
import TestSupport
import Testing
import WakeSystem

/// When rounds begin, by the built programs: the files of the schedule outlive every restart.
@Suite(
    "Rounds begin when they may", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RoundScheduleTests {
    private func metric(_ name: String, _ place: PushingService) throws -> Int {
        let client = try LoopbackClient(path: place.path("admin.sock"))
        let text = String(decoding: try client.exchange("GET", "/metrics").body, as: UTF8.self)
        return try #require(Int(try ServiceUnderTest.word(after: "\nreveille_\(name) ", in: text)))
    }

    /// A service with five registrations that has used up its hour.
    private func exhausted() async throws -> PushingService {
        let place = try await PushingService()
        try place.register((0..<5).map { _ in TestDevice() })
        for _ in 0..<3 {
            let (status, output) = try await place.broadcast()
            #expect(status == 0 && output.contains("5 accepted"), "\(output)")
        }
        return place
    }

    @Test("the fourth round in an hour waits, through restarts and other settings")
    func fourth() async throws {
        let place = try await exhausted()
        let (status, output) = try await place.broadcast("--no-wait")
        #expect(status == 0)
        #expect(output.contains("pushes wait for 3"), "\(output)")
        #expect(output.contains("no push token gets more than three an hour"))
        try await place.restart(broadcast: "interval-seconds = 1200", "heartbeat = on")
        try await place.restart(broadcast: "interval-seconds = 86400", "fetches-per-second = 0")
        #expect(await place.service.stop() == 0)
        // The machine's clock may say what it likes: this is how the file says it.
        let path = place.path("data/broadcast")
        let later = Int(Date().timeIntervalSince1970) + 365 * 86_400
        try resealState(path, members: ["wall": "\(later)"])
        try await place.service.restart()
        let next = try metric("next_broadcast_seconds", place)
        #expect((3000...3601).contains(next), "\(next)")
        #expect(try await place.mock.report().delivered == 15)
    }

    @Test("a heartbeat comes by itself when it is due, and not when it is off")
    func heartbeat() async throws {
        let place = try await PushingService()
        try place.register((0..<5).map { _ in TestDevice() })
        #expect(try metric("next_broadcast_seconds", place) == -1)
        // So long that it is hardly ever due by chance while the service runs.
        try await place.restart(broadcast: "heartbeat = on", "interval-seconds = 604800")
        #expect((0...604_800).contains(try metric("next_broadcast_seconds", place)))
        #expect(await place.service.stop() == 0)
        try due(place)
        try await place.service.restart()
        _ = try await place.service.program.line(
            containing: "broadcast-started sequence=0 streams=0 reasons=heartbeat")
        let ended = try await place.service.program.line(containing: "broadcast-ended run=1 ")
        #expect(ended.contains(" accepted=5 "), "\(ended)")

        // The next is in the next interval, and none comes once it is off.
        #expect(try metric("next_broadcast_seconds", place) > 300)
        #expect(await place.service.stop() == 0)
        try due(place)
        try place.configure(["heartbeat = off"])
        try await place.service.restart()
        #expect(try metric("next_broadcast_seconds", place) == -1)
        #expect(try await place.mock.report().delivered == 5)
    }

    /// Makes the heartbeat of the file due now.
    private func due(_ place: PushingService) throws {
        let path = place.path("data/broadcast")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let uptime = try #require(
            text.firstMatch(of: /"uptime":(\d+)/).flatMap { Int($0.1) })
        try resealState(path, members: ["due": "\(uptime)", "end": "\(uptime + 600)"])
    }

    @Test("with watch = on whatever is published is broadcast by itself, once")
    func watch() async throws {
        let place = try await PushingService()
        try place.register((0..<5).map { _ in TestDevice() })
        try await place.restart(broadcast: "watch = on")
        let secret = String(repeating: "ab", count: 32)
        _ = try await place.service.publish([secret], notes: [])
        _ = try await place.service.program.line(containing: "head-seen sequence=1")
        _ = try await place.service.program.line(containing: "reasons=watched")
        let ended = try await place.service.program.line(containing: "broadcast-ended run=1 ")
        #expect(ended.contains(" sequence=1 ") && ended.contains(" accepted=5 "), "\(ended)")
        #expect(await place.service.stop() == 0)
        try await place.service.restart()
        let (status, output) = try await place.service.command("broadcast")
        #expect(status == 1 && output.contains("nothing newer"), "\(output)")
        #expect(try await place.mock.report().delivered == 5)
    }
}
