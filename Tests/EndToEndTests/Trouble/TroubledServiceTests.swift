import Foundation
import TestSupport
import Testing

/// APNs in trouble of every kind beside an FCM that works, by the built programs and a peer that is
/// not ours: the others are woken, nobody feels more than two pushes, and nobody is lost.
@Suite(
    "A push service in trouble", .timeLimit(.minutes(10)),
    .enabled(if: PushPeer.isInstalled, "needs python3 with h2 (PyPI) and curl"),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct TroubledServiceTests {
    /// A habit of the peer, and what a round by it must come to.
    struct Trouble: CustomTestStringConvertible, Sendable {
        let habit: String
        let value: Double
        /// Pushes that are answered well before it begins.
        let after: Int
        let end: End

        enum End {
            /// Everybody is woken all the same, soon.
            case woken
            /// The rest is left to the next round, soon.
            case left
            /// In minutes.
            case late
        }

        init(_ habit: String, _ value: Double = 0, after: Int = 0, end: End = .late) {
            (self.habit, self.value, self.after, self.end) = (habit, value, after, end)
        }

        var testDescription: String { "\(habit) \(value) after \(after)" }
    }

    private static let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil
    private static let rows = 60

    private static let short = [
        Trouble("late", 1, end: .woken), Trouble("stray", after: 20, end: .woken),
        Trouble("outage", 1, end: .woken), Trouble("never"), Trouble("never", after: 20),
        Trouble("silent", after: 20), Trouble("no-streams", after: 20), Trouble("refuse"),
        Trouble("throttle"), Trouble("throttle-later", 600, end: .left),
    ]
    /// With the times of the real world.
    private static let long = [
        Trouble("late", 11, end: .woken), Trouble("late", 40, end: .woken),
        Trouble("outage", 75), Trouble("never"), Trouble("never", after: 20),
        Trouble("silent"), Trouble("silent", after: 20), Trouble("no-streams", after: 20),
        Trouble("no-window"), Trouble("refuse"), Trouble("refuse", after: 20),
        Trouble("throttle"), Trouble("throttle", after: 20),
        Trouble("throttle-later", 600, end: .left),
    ]

    @Test("the others are woken meanwhile, and once it is well again everybody has been")
    func others() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for trouble in Self.short {
                group.addTask { try await Self.run(trouble, isEndAwaited: trouble.end != .late) }
            }
            try await group.waitForAll()
        }
    }

    @Test(
        "each round ends within five minutes",
        .enabled(if: isLong, "takes six minutes; set REVEILLE_LONG=1"))
    func ends() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for trouble in Self.long {
                group.addTask { try await Self.run(trouble, isEndAwaited: true) }
            }
            try await group.waitForAll()
        }
    }

    private static func run(_ trouble: Trouble, isEndAwaited: Bool) async throws {
        let name = Comment(rawValue: trouble.testDescription)
        let place = try await PushedService()
        let phones = (0..<rows).map { _ in PushedToken(apns: "11") }
        let others = (0..<rows).map { PushedToken(fcm: "good\($0)-\(TestDevice().token)") }
        try PushedToken.register(phones + others, place.service)
        try await place.apns.set(trouble.habit, trouble.value, after: trouble.after)
        let round = try RunningProgram(
            "reveille", ["broadcast", "--force", "--config", place.service.configuration])
        try await place.fcm.report(woken: rows)
        if isEndAwaited {
            let output = await round.finished().output
            if trouble.end == .woken {
                #expect(output.contains("120 accepted"), "\(name) \(output)")
            }
        } else {
            let ended = try await place.service.command("broadcast", "--stop")
            #expect(ended.status == 0, "\(name) \(ended.output)")
            _ = await round.finished()
        }
        let first = try await place.apns.report()
        #expect(first.most <= 2, name)

        try await place.apns.set("none")
        if first.woken < rows { _ = try await place.broadcast() }
        let second = try await place.apns.report(woken: rows)
        #expect(second.most <= 3, name)
        #expect(try PushedToken.count(phones + others, place.service) == 2 * rows, name)
        #expect(try await place.fcm.report().most <= 2, name)
    }
}
