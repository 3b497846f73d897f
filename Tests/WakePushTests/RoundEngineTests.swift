import Dispatch
import TestSupport
import Testing
import WakeModel

@testable import WakePush

@Suite(
    "A gateway's round against the mock push service", .timeLimit(.minutes(2)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RoundEngineTests {
    /// What a round reported, in order, and a timer that lets its time pass.
    private final class Listener: Sendable {
        let reports = Observed<[GatewayReport]>([])

        var settled: [SettledWakeUp] { Self.settled(reports.value) }

        static func settled(_ reports: [GatewayReport]) -> [SettledWakeUp] {
            reports.flatMap { report -> [SettledWakeUp] in
                if case .settled(let wakeUps) = report { wakeUps } else { [] }
            }
        }

        static func failure(_ reports: [GatewayReport]) -> GatewayFailure? {
            for case .failed(let failure) in reports { return failure }
            return nil
        }

        /// Waits until so many are settled, or the gateway has failed.
        func atLeast(_ count: Int) async throws -> [SettledWakeUp] {
            try await reports.first { reports in
                let settled = Self.settled(reports)
                return settled.count >= count || Self.failure(reports) != nil ? settled : nil
            }
        }
    }

    private let directory: TemporaryDirectory
    private let pair: SigningKeyPair

    init() throws {
        directory = try TemporaryDirectory()
        pair = try SigningKeyPair()
    }

    private func gateway(_ mock: MockPush) throws -> APNsGateway {
        var configuration = APNsConfiguration(
            key: pair.privatePath, keyID: "ABC123DEFG", teamID: "TEAM123456",
            topic: "org.example.app")
        configuration.reach.host = "127.0.0.1"
        configuration.reach.port = UInt16(mock.port)
        configuration.reach.isPlain = true
        let team = try APNsTeam(
            configuration.credentials(), tokenFile: directory.path + "/apns-token")
        return try #require(APNsGateway(.apns, configuration, team: team))
    }

    private func open(_ mock: MockPush) throws -> (any GatewayRound, Listener, Ticking) {
        let listener = Listener()
        let round = try gateway(mock).open(lifetime: 7200) { report in
            listener.reports.update { $0.append(report) }
        }
        let timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now(), repeating: .milliseconds(50))
        timer.setEventHandler { [weak round] in round?.tick() }
        timer.resume()
        return (round, listener, Ticking(timer: timer))
    }

    /// Ends the timer with the test.
    private final class Ticking {
        let timer: any DispatchSourceTimer

        init(timer: any DispatchSourceTimer) { self.timer = timer }

        deinit { timer.cancel() }
    }

    @Test(
        "every wake-up is settled once and received once, over whatever faults",
        arguments: [
            [], ["--answer", "10:429:TooManyRequests:1"], ["--answer", "13:503"],
            ["--refuse-every", "17"], ["--goaway-every", "1100"], ["--streams", "7"],
        ])
    func settled(_ flags: [String]) async throws {
        let mock = try await MockPush(["--public-key", pair.publicPath] + flags)
        let (round, listener, ticking) = try open(mock)
        for start in stride(from: 0, to: 3000, by: 500) {
            round.send(try WakeUp.numbered(start..<start + 500))
        }
        round.finish()
        let settled = try await listener.atLeast(3000)
        #expect(settled.map(\.reference).sorted() == Array(0..<3000))
        #expect(settled.allSatisfy { $0.delivery == .accepted })
        #expect(Listener.failure(listener.reports.value) == nil)
        round.stop()
        withExtendedLifetime(ticking) {}
        let report = try await mock.report()
        #expect(report.distinct == 3000 && report.duplicates == 0)
        #expect(report.violations == [:] && report.providerTokens == 1)
    }

    @Test("a refused key fails the gateway, once, and nothing is reported after")
    func refused() async throws {
        let other = try SigningKeyPair()
        let mock = try await MockPush(["--public-key", other.publicPath])
        let (round, listener, ticking) = try open(mock)
        round.send(try WakeUp.numbered(0..<100))
        _ = try await listener.atLeast(1)
        let count = listener.reports.value.count
        #expect(
            Listener.failure(listener.reports.value)
                == .misconfigured(.apns(.keyRefused)))
        round.send(try WakeUp.numbered(100..<200))
        round.finish()
        round.tick()
        round.stop()
        withExtendedLifetime(ticking) {}
        #expect(try await mock.report().distinct == 0)
        #expect(listener.reports.value.count == count && listener.settled.isEmpty)
    }

    @Test("bad tokens only: the end of the round tells that the gateway is wrong")
    func badTokens() async throws {
        let mock = try await MockPush(["--answer-all", "400:BadDeviceToken"])
        let (round, listener, ticking) = try open(mock)
        round.send(try WakeUp.numbered(0..<10))
        round.finish()
        _ = try await listener.atLeast(1)
        withExtendedLifetime(ticking) {}
        #expect(
            Listener.failure(listener.reports.value)
                == .misconfigured(.apns(.tokensOfOtherEnvironment)))
        #expect(listener.settled.isEmpty)
        _ = try await mock.report()
    }

    @Test("a round that is stopped while all is in flight reports nothing more")
    func stopped() async throws {
        let mock = try await MockPush(["--latency", "1000"])
        let (round, listener, ticking) = try open(mock)
        round.send(try WakeUp.numbered(0..<200))
        round.stop()
        round.tick()
        withExtendedLifetime(ticking) {}
        _ = try await mock.report()
        #expect(listener.reports.value.isEmpty)
    }

    @Test("a round without wake-ups asks for nothing and reports nothing")
    func nothingSent() async throws {
        let mock = try await MockPush([])
        let (round, listener, ticking) = try open(mock)
        round.finish()
        round.stop()
        withExtendedLifetime(ticking) {}
        #expect(try await mock.report().requests == 0)
        #expect(listener.reports.value.isEmpty)
    }
}
