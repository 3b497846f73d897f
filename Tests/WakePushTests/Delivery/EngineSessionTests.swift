import TestSupport
import Testing
import WakeModel

@testable import WakePush

@Suite(
    "A gateway's round against the mock push service", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct EngineSessionTests {
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
        configuration.options.host = "127.0.0.1"
        configuration.options.port = UInt16(mock.port)
        configuration.options.isPlain = true
        let team = try APNsTokenProvider(
            configuration.credentials(), tokenFile: directory.path + "/apns-token")
        return try #require(APNsGateway(.apns, configuration, tokens: team))
    }

    private func open(_ mock: MockPush) throws -> SessionUnderTest {
        SessionUnderTest(try gateway(mock))
    }

    @Test(
        "every wake-up is settled once and received once, over whatever faults",
        arguments: [
            [], ["--answer", "10:429:TooManyRequests:1"], ["--answer", "13:503"],
            ["--refuse-every", "17"], ["--goaway-every", "1100"], ["--streams", "7"],
        ])
    func settled(_ flags: [String]) async throws {
        let mock = try await MockPush(["--public-key", pair.publicPath] + flags)
        let test = try open(mock)
        for start in stride(from: 0, to: 3000, by: 500) {
            test.round.send(try WakeUp.numbered(start..<start + 500))
        }
        test.round.flush(isFinal: true)
        let settled = try await test.settled(3000)
        #expect(settled.keys.sorted() == Array(0..<3000))
        #expect(settled.values.allSatisfy { $0 == .accepted })
        #expect(test.failure == nil)
        test.round.cancel()
        let report = try await mock.report()
        #expect(report.distinct == 3000 && report.duplicates == 0)
        #expect(report.violations == [:] && report.providerTokens == 1)
    }

    @Test("a refused key fails the gateway, once, and nothing is reported after")
    func refused() async throws {
        let other = try SigningKeyPair()
        let mock = try await MockPush(["--public-key", other.publicPath])
        let test = try open(mock)
        test.round.send(try WakeUp.numbered(0..<100))
        _ = try await test.settled(1)
        let count = test.reports.value.count
        #expect(test.failure == .misconfigured(.apns(.keyRefused)))
        test.round.send(try WakeUp.numbered(100..<200))
        test.round.flush(isFinal: true)
        test.round.tick()
        test.round.cancel()
        #expect(try await mock.report().distinct == 0)
        #expect(test.reports.value.count == count)
        #expect(SessionUnderTest.settled(test.reports.value).isEmpty)
    }

    @Test("bad tokens only: the end of the round tells that the gateway is wrong")
    func badTokens() async throws {
        let mock = try await MockPush(["--answer-all", "400:BadDeviceToken"])
        let test = try open(mock)
        test.round.send(try WakeUp.numbered(0..<10))
        test.round.flush(isFinal: true)
        _ = try await test.settled(1)
        #expect(test.failure == .misconfigured(.apns(.tokensOfOtherEnvironment)))
        #expect(SessionUnderTest.settled(test.reports.value).isEmpty)
        _ = try await mock.report()
    }

    @Test("a round that is stopped while all is in flight reports nothing more")
    func stopped() async throws {
        let mock = try await MockPush(["--latency", "600000"])
        let test = try open(mock)
        test.round.send(try WakeUp.numbered(0..<200))
        test.round.cancel()
        test.round.tick()
        _ = try await mock.report()
        #expect(test.reports.value.isEmpty)
    }

    @Test("a round without wake-ups asks for nothing and reports nothing")
    func nothingSent() async throws {
        let mock = try await MockPush([])
        let test = try open(mock)
        test.round.flush(isFinal: true)
        test.round.cancel()
        #expect(try await mock.report().requests == 0)
        #expect(test.reports.value.isEmpty)
    }
}
