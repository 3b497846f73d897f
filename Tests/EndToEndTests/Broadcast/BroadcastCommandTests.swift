import Foundation
import TestSupport
import Testing

/// The operator's command around a round, and a service that is stopped within one.
@Suite(
    "The command broadcast", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct BroadcastCommandTests {
    @Test("two broadcasts asked for at once are both answered, and everyone is woken")
    func atOnce() async throws {
        let place = try await PushingService()
        try place.register((0..<100).map { _ in TestDevice() })
        let programs = [try place.startBroadcast(), try place.startBroadcast()]
        for program in programs {
            let (status, output) = await program.finished()
            #expect(status == 0, "\(output)")
            #expect(output.contains("pushes to 100 registrations: 100 accepted"), "\(output)")
        }
        let report = try await place.mock.report()
        #expect(report.distinct == 100)
        // One round or two, never at the same time.
        #expect([100, 200].contains(report.delivered) && report.mostStreams <= 100)
    }

    @Test("broadcasts asked for during a round become one more round")
    func together() async throws {
        let held = try HeldAnswers()
        let place = try await PushingService(.init(held))
        try place.register((0..<20).map { _ in TestDevice() })
        let first = try place.startBroadcast()
        _ = try await place.round { $0.run == 1 && $0.running }
        let later = try (0..<4).map { _ in try place.startBroadcast() }
        for program in later {
            _ = try await program.line(containing: "broadcast of sequence")
            _ = try await program.line(containing: "broadcast 1 is running")
        }
        // All but the one that came first.
        let joined = later.count { $0.output.contains("joins the broadcast that was asked for") }
        #expect(joined == 3)
        // Who stops watching is told that nothing else stops.
        later[0].signal(SIGINT)
        #expect(await later[0].exit() != 0)
        #expect(later[0].output.contains("`reveille broadcast --stop` ends it"))
        try held.release()
        for program in [first] + later.dropFirst() {
            let (status, output) = await program.finished()
            #expect(status == 0 && output.contains("20 accepted"), "\(output)")
        }
        let report = try await place.mock.report()
        #expect(report.distinct == 20 && report.delivered == 40)
    }

    @Test("--no-wait returns at once, and the round goes on without")
    func noWait() async throws {
        let held = try HeldAnswers()
        let place = try await PushingService(.init(held))
        try place.register((0..<20).map { _ in TestDevice() })
        let (status, output) = try await place.broadcast("--no-wait")
        #expect(status == 0 && output == "broadcast of sequence 0 to 0 event streams\n")
        #expect(try place.round().accepted == 0)
        try held.release()
        _ = try await place.service.program.line(containing: "broadcast-ended ")
        #expect(try place.round().accepted == 20)
        let answer = try await place.service.command("status")
        #expect(answer.output.contains("accepted 20, gone 0"))
        #expect(try await place.mock.report().distinct == 20)
    }

    @Test("a service that is stopped within a slow round ends soon, and nothing is deleted")
    func stopped() async throws {
        let held = try HeldAnswers()
        let place = try await PushingService(.init(held, "--answer-all", "410:Unregistered"))
        try place.register((0..<100).map { _ in TestDevice() })
        let watching = try place.startBroadcast()
        _ = try await place.round { $0.run == 1 && $0.rows == 100 }
        // No answer comes at all: it does not wait for one.
        #expect(await place.service.stop() == 0)
        // The watcher is told that nobody answers any more.
        let (status, output) = await watching.finished()
        #expect(status == 75 && output.contains("hint: "), "\(output)")
        #expect(try place.service.rows() == 100)
        // The round goes on, and the next start does not believe that all are gone either.
        try await place.service.restart()
        _ = try await place.service.program.line(containing: "broadcast-resumed ")
        try held.release()
        _ = try await place.round { $0.gone == 100 }
        #expect(try place.service.rows() == 100)
        // Each was sent once by either: none waited until its stream was given up.
        #expect(try await place.mock.report().requests <= 200)
    }

    @Test("without a running service it says so, and that trying again may help")
    func notRunning() async throws {
        let service = try await ServiceUnderTest()
        #expect(await service.stop() == 0)
        for words in [[], ["--no-wait"]] {
            let (status, output) = try await RunningProgram.run(
                "reveille", ["broadcast", "--config", service.configuration] + words)
            #expect(status == 75)
            #expect(
                output == """
                    reveille: the service does not answer on its admin socket: is it running?
                    hint: `journalctl -u reveille -p err` says why a unit does not start; \
                    by hand: `reveille serve`

                    """)
        }
    }

    @Test("without a gateway only event streams are told, and nothing is waited for")
    func noGateway() async throws {
        let place = try await PushingService()
        try place.register([TestDevice()])
        #expect(await place.service.stop() == 0)
        try place.service.removeSection("apns")
        try await place.service.restart()
        let (status, output) = try await place.service.command("broadcast", "--force")
        #expect(status == 1 && output.contains("no push was sent"), "\(output)")
        // What was registered while there was one stays.
        #expect(try place.service.rows() == 1)
        #expect(try await place.mock.report().requests == 0)
    }
}
