import Foundation
import TestSupport
import Testing
import WakeSystem

@testable import WakePush

@Suite(
    "When provider tokens are made",
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct ProviderTokenPolicyTests {
    private typealias Feedback = CredentialFeedback

    private let start = ProviderTokenTests.start
    private let credentials: APNsCredentials
    private let directory: TemporaryDirectory
    private static let clockWrong = GatewayFailure.misconfigured(.apns(.clockWrong))
    private static let many = TokenInUse.refusalLimit

    init() throws {
        credentials = try ProviderTokenTests.credentials(SigningKeyPair())
        directory = try TemporaryDirectory()
    }

    private func team() throws -> APNsTokenProvider {
        try APNsTokenProvider(credentials, tokenFile: directory.path + "/apns-token")
    }

    private func value(_ team: APNsTokenProvider, at now: ClockReading) throws -> [UInt8] {
        guard case .value(let value, _) = try team.credential(at: now) else {
            throw TestFailure("asked to wait")
        }
        return value
    }

    private func reading(wall: Int, uptime: Int, boot: UInt8 = 1) -> ClockReading {
        ClockReading(wall: wall, uptime: uptime, boot: [UInt8](repeating: boot, count: 16))
    }

    @Test("a token is used for fifty minutes, over restarts, and its serial changes with it")
    func reuse() throws {
        let team = try team()
        guard case .value(let first, let serial) = try team.credential(at: start),
            case .value(let same, serial) = try team.credential(at: start.later(2999)),
            case .value(let next, let other) = try team.credential(at: start.later(3000))
        else { throw TestFailure("not three values") }
        #expect(String(decoding: first, as: UTF8.self).hasPrefix("bearer ey"))
        #expect(same == first && next != first && other != serial)
        #expect(try value(self.team(), at: start.later(3600)) == next)
    }

    @Test("four refusals of an expired token are strays; five in a row replace it, once")
    func expired() throws {
        let team = try team()
        let first = try value(team, at: start)
        let later = start.later(1200)
        for _ in 0..<50 {
            try team.learn(Feedback(expired: Self.many - 1), at: later)
            try team.learn(.worked, at: later)
        }
        #expect(try value(team, at: later) == first)
        for _ in 0..<Self.many { try team.learn(Feedback(expired: 1), at: later) }
        // Every answer still in flight says the same.
        try team.learn(Feedback(expired: 1000), at: later)
        let second = try value(team, at: later)
        #expect(second != first)
        // So do late ones, which are about the token before.
        try team.learn(Feedback(expired: 1000), at: later.later(TokenInUse.lateSeconds - 1))
        #expect(try value(team, at: later.later(60)) == second)
    }

    @Test("a token that is called expired too young blames the clock", arguments: [0, 60, 1199])
    func expiredEarly(_ age: Int) throws {
        let team = try team()
        let first = try value(team, at: start)
        let now = start.later(age)
        try team.learn(Feedback(expired: 1), at: now)
        #expect(throws: Self.clockWrong) {
            try team.learn(Feedback(expired: Self.many), at: now)
        }
        // No other token is made for it, and the next broadcast asks anew.
        #expect(try value(team, at: now) == first)
        try team.learn(Feedback(expired: 1), at: now)
    }

    @Test("a replacement that is refused as expired blames the clock, unless it has worked")
    func replacement() throws {
        for hasWorked in [false, true] {
            let team = try team()
            _ = try value(team, at: start)
            let change = start.later(1200)
            try team.learn(Feedback(expired: Self.many), at: change)
            let second = try value(team, at: change)
            // A late acceptance is no proof.
            try team.learn(.worked, at: change.later(1))
            if hasWorked { try team.learn(.worked, at: change.later(TokenInUse.lateSeconds)) }
            let end = change.later(1200)
            if hasWorked {
                try team.learn(Feedback(expired: Self.many), at: end)
                #expect(try value(team, at: end) != second)
            } else {
                #expect(throws: Self.clockWrong) {
                    try team.learn(Feedback(expired: Self.many), at: end)
                }
            }
        }
    }

    @Test("too many updates mean pauses of seconds, and the token that was accepted goes on")
    func tooMany() throws {
        let team = try team()
        let first = try value(team, at: start)
        try team.learn(.worked, at: start)
        var now = start.later(3000)
        #expect(try value(team, at: now) != first)
        for (index, pause) in [1, 2, 4, 8, 16, 32, 60, 60].enumerated() {
            try team.learn(Feedback(tooManyUpdates: 7), at: now)
            guard case .wait(pause, let reason) = try team.credential(at: now) else {
                throw TestFailure("expected a pause of \(pause) s")
            }
            // Answers that were in flight make it no longer.
            try team.learn(Feedback(tooManyUpdates: 7), at: now)
            #expect(reason == (index < 2 ? nil : .providerTokenUpdates))
            now = now.later(pause)
            #expect(try value(team, at: now) == first)
        }
        try team.learn(.worked, at: now)
        try team.learn(Feedback(tooManyUpdates: 1), at: now)
        #expect(try value(team, at: now.later(1)) == first)
        // Not for ever.
        #expect(try value(team, at: start.later(3541)) != first)
    }

    @Test("a clock that was put right replaces the token at once, in one life and over restarts")
    func clockSet() throws {
        for jump in [-86_400 * 365, -3600, -301, 301, 3600, 86_400 * 365] {
            let team = try team()
            let first = try value(team, at: start)
            let now = reading(wall: start.wall + 60 + jump, uptime: start.uptime + 60)
            #expect(try value(self.team(), at: now) != first)
            let drift = reading(wall: now.wall + 660, uptime: now.uptime + 400)
            #expect(try value(team, at: now) == value(team, at: drift))
        }
    }

    @Test("after a reboot the wall clock counts; a token from its future is not used")
    func reboot() throws {
        for (wall, isKept) in [(300, true), (3000, false), (-300, false), (10, false)] {
            let first = try value(team(), at: start)
            let now = reading(wall: start.wall + wall, uptime: 20, boot: 2)
            #expect(try (value(team(), at: now) == first) == isKept)
            try FileManager.default.removeItem(atPath: directory.path + "/apns-token")
        }
    }

    @Test("news before the first token are no news")
    func early() throws {
        try team().learn(Feedback(expired: 9, tooManyUpdates: 9), at: start)
    }

    @Test(
        "while clocks are right no two tokens are made in 20 minutes, and none is used at 60",
        arguments: 0..<60)
    func anyLife(_ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var world = World()
        var tokens = try team()
        var made: [[UInt8]: Int] = [:]
        var (last, used) = (Int.min / 2, 0)
        for _ in 0..<300 {
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: tokens = try team()
            case 1:
                world.reboot(after: Int.random(in: 5...4000, using: &generator))
                tokens = try team()
            case let choice where choice < 5:
                let feedback = [Feedback(expired: 3), Feedback(tooManyUpdates: 1), .worked]
                // An undeserved refusal at worst says that the gateway must stop.
                try? tokens.learn(feedback[choice - 2], at: world.now)
            default: world.pass(Int.random(in: 1...900, using: &generator))
            }
            guard case .value(let value, _) = try tokens.credential(at: world.now) else {
                continue
            }
            if made[value] == nil {
                #expect(world.time - last >= 1200)
                (made[value], last) = (world.time, world.time)
            }
            used += 1
            #expect(world.time - (made[value] ?? 0) < 3600)
        }
        #expect(used > 50 && made.count > 10)
    }
}

/// The true time, and the clocks of a machine.
private struct World {
    private(set) var time = 1_700_000_000
    private var started = 1_699_990_000
    private var boot: UInt8 = 1

    var now: ClockReading {
        ClockReading(
            wall: time, uptime: time - started, boot: [UInt8](repeating: boot, count: 16))
    }

    mutating func pass(_ seconds: Int) { time += seconds }

    mutating func reboot(after seconds: Int) {
        time += seconds
        started = time - 3
        boot &+= 1
    }
}
