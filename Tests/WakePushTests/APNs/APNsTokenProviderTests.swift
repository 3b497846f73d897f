import TestSupport
import Testing
import WakeSystem

@testable import WakePush

@Suite(
    "A developer account in both environments",
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct APNsTokenProviderTests {
    private let directory: TemporaryDirectory
    private let credentials: APNsCredentials
    private let start = ProviderTokenTests.start

    init() throws {
        directory = try TemporaryDirectory()
        credentials = try ProviderTokenTests.credentials(SigningKeyPair())
    }

    private func team() throws -> APNsTokenProvider {
        try APNsTokenProvider(credentials, tokenFile: directory.path + "/apns-token")
    }

    private func value(
        _ team: APNsTokenProvider, at now: ClockReading
    ) throws -> (value: [UInt8], serial: Int) {
        guard case .value(let value, let serial) = try team.credential(at: now) else {
            throw TestFailure("asked to wait")
        }
        return (value, serial)
    }

    /// Seconds after a change in which answers may be to the token before.
    private static let late = 46

    @Test("the serial changes with the value and only then")
    func serial() throws {
        let team = try team()
        let first = try value(team, at: start)
        #expect(String(decoding: first.value, as: UTF8.self).hasPrefix("bearer ey"))
        let same = try value(team, at: start.later(2999))
        #expect(same.value == first.value && same.serial == first.serial)
        let next = try value(team, at: start.later(3000))
        #expect(next.value != first.value && next.serial != first.serial)
    }

    @Test("after a restart the kept token goes on")
    func restart() throws {
        let first = try value(team(), at: start)
        let again = try value(team(), at: start.later(600))
        #expect(again.value == first.value)
    }

    @Test("an expired token of 20 minutes is replaced, a younger one blames the clock")
    func expired() throws {
        for age in [0, 1199] {
            let team = try team()
            _ = try value(team, at: start)
            #expect(throws: GatewayFailure.misconfigured(.apns(.clockWrong))) {
                try team.learn(.expired, at: start.later(age))
            }
        }
        let team = try team()
        let first = try value(team, at: start)
        try team.learn(.expired, at: start.later(1200))
        let next = try value(team, at: start.later(1200))
        #expect(next.value != first.value && next.serial != first.serial)
    }

    @Test("late answers to the token before say nothing about the new one")
    func lateAnswers() throws {
        let team = try team()
        _ = try value(team, at: start)
        let change = start.later(3000)
        let next = try value(team, at: change)
        for second in 0..<Self.late { try team.learn(.expired, at: change.later(second)) }
        #expect(try value(team, at: change.later(Self.late)).value == next.value)
        // After that it is the new one that is called expired.
        #expect(throws: GatewayFailure.misconfigured(.apns(.clockWrong))) {
            try team.learn(.expired, at: change.later(Self.late))
        }
    }

    @Test("a late acceptance is no proof that a replacement works")
    func lateAcceptance() throws {
        let team = try team()
        _ = try value(team, at: start)
        let change = start.later(1200)
        try team.learn(.expired, at: change)
        let second = try value(team, at: change)
        try team.learn(.worked, at: change.later(1))
        #expect(throws: GatewayFailure.misconfigured(.apns(.clockWrong))) {
            try team.learn(.expired, at: change.later(1200))
        }
        #expect(try value(team, at: change.later(1200)).value == second.value)
    }

    @Test("a replacement that was accepted may expire in its turn")
    func acceptance() throws {
        let team = try team()
        _ = try value(team, at: start)
        let change = start.later(1200)
        try team.learn(.expired, at: change)
        let second = try value(team, at: change)
        try team.learn(.worked, at: change.later(Self.late))
        try team.learn(.expired, at: change.later(1200))
        #expect(try value(team, at: change.later(1200)).value != second.value)
    }

    @Test("too many updates mean twenty minutes without a push, late or not")
    func tooMany() throws {
        let team = try team()
        let first = try value(team, at: start)
        try team.learn(.tooManyUpdates, at: start.later(10))
        guard case .wait(let seconds) = try team.credential(at: start.later(11)) else {
            throw TestFailure("expected a pause")
        }
        #expect(seconds == 1199)
        #expect(try value(team, at: start.later(1210)).value == first.value)
    }

    @Test("news before the first token are no news")
    func early() throws {
        try team().learn([.expired, .tooManyUpdates, .worked], at: start)
    }
}
