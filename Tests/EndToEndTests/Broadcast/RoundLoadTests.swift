import Foundation
import Synchronization
import TestSupport
import Testing
import WakeModel

/// A round through registrations that change while it runs.
@Suite(
    "A round while registrations come, move and go", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RoundLoadTests {
    /// Push tokens that begin so are called gone.
    private static let dead: [UInt8] = [0xDE, 0xAD]
    /// Push tokens that begin so are accepted and counted apart.
    private static let counted: [UInt8] = [0xDD]

    private static func devices(_ count: Int, _ prefix: [UInt8] = [0]) -> [TestDevice] {
        (0..<count).map { _ in TestDevice(pushPrefix: prefix) }
    }

    @Test("everyone who lived through it has a push, nobody comes back, no renewal is lost")
    func changes() async throws {
        let steady = 4000
        let latency = 500
        let place = try await PushingService(
            .init(
                "--latency", "\(latency)", "--answer-token", "dead:410:Unregistered",
                "--answer-token", "dd:200"))
        try await place.restart(
            broadcast: "fetches-per-second = 1500", filled: steady, isPacedByBudget: true)
        let load = RoundLoad(
            renewed: Self.devices(10, Self.dead), restless: Self.devices(10, Self.dead),
            calm: Self.devices(10), moved: Self.devices(200),
            deleted: Self.devices(200, Self.counted),
            new: Self.devices(200, Self.counted))
        let gone = Self.devices(20, Self.dead)
        let shared = TestDevice(pushPrefix: [0])
        let copies = (0..<1000).map { _ in TestDevice(push: shared.push) }
        try place.register(gone + copies + load.before)

        try await place.startRound()
        load.start(place)
        let ended = try await place.service.program.line(containing: "broadcast-ended run=1 ")
        let slowest = try await load.stop()

        #expect(ended.contains(" complete=1 "))
        #expect(ended.contains(" duplicates=999 "), "\(ended)")
        let report = try await place.mock.report()
        let apart = report.faults["200"] ?? 0
        #expect(report.distinct - apart == steady + load.calm.count + load.moved.count + 1)
        #expect(report.duplicates == 0 && report.violations == [:])
        #expect(apart <= load.deleted.count + load.new.count && apart > 0)
        #expect(report.faults["410"] == 40)

        #expect(try !place.registered(load.deleted + gone).contains(true))
        #expect(try place.registered(load.new + load.moved + load.calm).allSatisfy { $0 })
        // A renewal came between a push and its answer, as one came more often than that.
        let kept = try place.registered(load.renewed + load.restless)
        #expect(
            kept.allSatisfy { $0 } || slowest > .milliseconds(latency - 50),
            "\(kept.count { !$0 }) lost although one round of renewals took \(slowest) at most")
        #expect(
            try place.service.rows() == steady + 1000 + 10 + 200 + 200 + kept.count { $0 })
    }
}

/// What clients do while a round runs, on threads of their own.
private final class RoundLoad: Sendable {
    /// Registered again and again, with the same push token.
    let renewed: [TestDevice]
    /// The same, with another push token each time.
    let restless: [TestDevice]
    /// As `renewed`, of push tokens that work.
    let calm: [TestDevice]
    /// One after the other, as the round goes on.
    let moved: [TestDevice]
    let deleted: [TestDevice]
    let new: [TestDevice]

    private struct State {
        var isOver = false
        var running = 0
        var slowest = Duration.zero
        var failures: [String] = []
    }
    private let state = Observed(State())

    init(
        renewed: [TestDevice], restless: [TestDevice], calm: [TestDevice], moved: [TestDevice],
        deleted: [TestDevice], new: [TestDevice]
    ) {
        self.renewed = renewed
        self.restless = restless
        self.calm = calm
        self.moved = moved
        self.deleted = deleted
        self.new = new
    }

    /// To be registered before the round.
    var before: [TestDevice] { renewed + restless + calm + moved + deleted }

    func start(_ place: PushingService) {
        let (port, admin) = (place.service.port, place.path("admin.sock"))
        run { try $0.renew(port) }
        run { try $0.change(port, admin) }
    }

    private func run(_ work: @escaping @Sendable (RoundLoad) throws -> Void) {
        state.update { $0.running += 1 }
        Thread.detachNewThread { [self] in
            do {
                try work(self)
            } catch {
                state.update { $0.failures.append("\(error)") }
            }
            state.update { $0.running -= 1 }
        }
    }

    /// - Returns: how long renewing all of them took at most.
    func stop() async throws -> Duration {
        state.update { $0.isOver = true }
        let end = try await state.first { $0.running == 0 ? $0 : nil }
        #expect(end.failures == [])
        return end.slowest
    }

    private func renew(_ port: UInt16) throws {
        let client = try LoopbackClient(port: port)
        var last = ContinuousClock.now
        while !state.value.isOver {
            for device in renewed + calm { try put(device.body, device, client) }
            for device in restless {
                let other = TestDevice(pushPrefix: Array(device.push.prefix(2)))
                try put(other.body, device, client)
            }
            let now = ContinuousClock.now
            state.update { $0.slowest = max($0.slowest, now - last) }
            last = now
        }
    }

    private func change(_ port: UInt16, _ admin: String) throws {
        let client = try LoopbackClient(port: port)
        for number in moved.indices {
            try wait(permille: number * 950 / moved.count, admin)
            try put(TestDevice(pushPrefix: [0]).body, moved[number], client)
            let answer = try client.exchange(
                "DELETE", "/v1/registration", token: deleted[number].token)
            if answer.status != 204 { throw TestFailure("DELETE: \(answer.status)") }
            try put(new[number].body, new[number], client)
        }
    }

    private func put(_ body: [UInt8], _ device: TestDevice, _ client: LoopbackClient) throws {
        let answer = try client.exchange(
            "PUT", "/v1/registration", token: device.token, body: body)
        if answer.status != 204 { throw TestFailure("PUT: \(answer.status)") }
    }

    private func wait(permille: Int, _ admin: String) throws {
        let client = try LoopbackClient(path: admin)
        while !state.value.isOver {
            let answer = try client.exchange("GET", "/v1/broadcast")
            let progress = try JSONDecoder().decode(
                PushingService.Progress.self, from: Data(answer.body))
            if progress.permille >= permille { return }
        }
    }
}
