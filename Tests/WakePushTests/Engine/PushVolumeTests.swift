import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("A hundred thousand pushes", .serialized, .timeLimit(.minutes(10)))
struct PushVolumeTests {
    private static let count = 100_000
    private static let streams = 1000

    /// How the service goes wrong, and what that may cost.
    struct Fault: Sendable, CustomTestStringConvertible {
        var flags: [String]
        /// As the mock reports it; empty: nothing goes wrong.
        var name = ""
        /// Pushes that may come twice for each time it happens.
        var duplicatesEach = 0
        var testDescription: String { flags.joined(separator: " ") }
    }

    static let faults = [
        Fault(flags: []),
        Fault(flags: ["--goaway-every", "5000"], name: "goaway"),
        Fault(flags: ["--refuse-every", "5000"], name: "refused"),
        // What is reset had been delivered: once more each time, and never another push.
        Fault(flags: ["--reset-every", "5000"], name: "reset", duplicatesEach: 1),
        Fault(flags: ["--answer", "10:429:TooManyRequests"], name: "429"),
        Fault(flags: ["--answer", "10:429:TooManyRequests:1"], name: "429"),
        Fault(flags: ["--answer", "10:503:ServiceUnavailable"], name: "503"),
        // The connection is given up with all that was in flight on it.
        Fault(
            flags: ["--stall-at", "50000", "--stall-seconds", "5"], name: "stall",
            duplicatesEach: streams),
    ]

    @Test(
        "each reaches APNs over one TLS connection, twice only after a reset or a stall",
        .enabled(if: OpenSSLCommand.isInstalled), arguments: faults)
    func delivered(_ fault: Fault) async throws {
        let certificates = try TestAuthority()
        let server = try certificates.issue(for: "localhost")
        let pair = try SigningKeyPair()
        let credentials = try ProviderTokenTests.credentials(pair)
        let mock = try await MockPush(
            [
                "--certificate", server.certificate, "--key", server.key, "--public-key",
                pair.publicPath, "--topic", credentials.topic, "--streams", "\(Self.streams)",
            ] + fault.flags)
        var endpoint = try #require(GatewayEndpoint.apns(.apns))
        endpoint.host = "localhost"
        endpoint.port = UInt16(mock.port)
        endpoint.authorityFile = certificates.certificate
        let volume = PushVolume(Self.count)
        var configuration = try Self.configuration(endpoint, credentials)
        if fault.name == "stall" {
            configuration.limits.answerMilliseconds = 2000
            configuration.limits.silenceMilliseconds = 2000
        }
        let tally = try await volume.run(configuration)
        let report = try await mock.report()
        #expect(tally.failures == [])
        #expect(tally.accepted == Self.count)
        #expect(report.distinct == Self.count)
        #expect(report.violations == [:])
        #expect(report.refusals == [:])
        let faults = report.faults[fault.name] ?? 0
        #expect(faults > 0 || fault.name.isEmpty)
        let duplicates = report.duplicates
        // On a busy machine more connections fall silent than were told to.
        #expect(duplicates <= faults * fault.duplicatesEach || fault.name == "stall")
        // The engine knows which of them may have arrived.
        #expect(duplicates <= tally.unsafeRetries)
    }

    @Test(
        "windows of a few bytes slow it down and lose nothing",
        .enabled(if: OpenSSLCommand.isInstalled),
        arguments: [
            ["--connection-window", "31", "--window", "31"],
            ["--connection-window", "100", "--window", "7", "--streams", "50"],
        ])
    func tinyWindows(_ flags: [String]) async throws {
        // More than the 65,535 bytes that a connection begins with.
        let count = 3000
        let mock = try await MockPush(flags)
        let tally = try await PushVolume(count).run(Self.plain(mock))
        let report = try await mock.report()
        #expect(tally.accepted == count && tally.unsafeRetries == 0)
        #expect(report.distinct == count)
        #expect(report.duplicates == 0)
        #expect(report.violations == [:])
    }

    @Test(
        "a million take no more memory than the first two hundred thousand",
        .enabled(if: OpenSSLCommand.isInstalled))
    func memory() async throws {
        let mock = try await MockPush([])
        let volume = PushVolume(1_000_000)
        let configuration = try Self.plain(mock)
        async let end = volume.run(configuration)
        try await volume.accepted(200_000)
        let early = try #require(ProcessMemory.anonymousBytes())
        let tally = try await end
        let late = try #require(ProcessMemory.anonymousBytes())
        #expect(tally.accepted == 1_000_000)
        // The kernel may put single pages together to large ones; a leak of the smallest block for
        // each push were 25 MB.
        #expect(late - early < 12 << 20)
        #expect(try await mock.report().distinct == 1_000_000)
    }

    /// To a mock without TLS that verifies no provider tokens.
    private static func plain(_ mock: MockPush) throws -> EngineConfiguration {
        var endpoint = try #require(GatewayEndpoint.apns(.apns))
        endpoint.host = "127.0.0.1"
        endpoint.port = UInt16(mock.port)
        endpoint.isPlain = true
        return try configuration(endpoint, ProviderTokenTests.credentials(SigningKeyPair()))
    }

    private static func configuration(
        _ endpoint: GatewayEndpoint, _ credentials: APNsCredentials
    ) throws -> EngineConfiguration {
        let now = ClockReading.system()
        let token = try #require(ProviderToken(mintedBy: credentials, at: now))
        let request = APNsRequest(
            endpoint, topic: credentials.topic, now: now.wall, lifetime: 7200)
        var configuration = endpoint.engine(request.template(token))
        configuration.limits.streams = streams
        // No answer is late because a machine is busy.
        configuration.limits.answerMilliseconds = 600_000
        configuration.limits.silenceMilliseconds = 600_000
        configuration.reconnectMilliseconds = 10
        return configuration
    }
}
