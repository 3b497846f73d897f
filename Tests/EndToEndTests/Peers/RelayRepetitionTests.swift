import Foundation
import TestSupport
import Testing

/// A relay that is killed while it has wake-ups of an installation. It remembers nothing of them:
/// the installation alone bounds how often a device is woken.
@Suite(
    "A relay that is killed in the midst of a batch", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"),
    .enabled(if: PushPythonPeer.isInstalled, "needs python3 with h2"))
struct RelayRepetitionTests {
    private static let count = 30

    @Test("killed twice, it wakes nobody more than twice, and the broadcast reaches everybody")
    func killed() async throws {
        // Answers after three seconds: the relay dies with pushes that have arrived.
        let peer = try await PushPythonPeer(.late, 3)
        let pair = try SigningKeyPair()
        let place = try WireServer.reservedPort()
        let owner = try await ServiceUnderTest(
            listen: "127.0.0.1:\(place.port)",
            sections: peer.apns(pair) + """
                [broadcast]
                heartbeat = off
                [relay]
                authority = 127.0.0.1:\(place.port)

                """, serving: .nothing)
        let allowed = try await owner.command("relay", "allow", "village", RelayOwner.publicKey)
        #expect(allowed.status == 0, "\(allowed.output)")
        let keys = try TemporaryDirectory()
        let installation = try await Self.installation(
            at: place.port, key: try RelayUser.writeKey(in: keys))
        try installation.register((0..<Self.count).map { _ in TestDevice() })
        let broadcast = try RunningProgram(
            "reveille", ["broadcast", "--force", "--config", installation.configuration])
        _ = try await Self.report(of: peer) { $0.woken == Self.count }
        await owner.kill()
        try await owner.restart()
        // All but those whose answers had come are sent once more.
        let before = try peer.report().requests
        _ = try await Self.report(of: peer) { $0.requests >= before + Self.count / 2 }
        await owner.kill()
        try await owner.restart()
        let (_, output) = await broadcast.finished()
        let report = try peer.report()
        #expect(report.woken == Self.count && report.most <= 2, "\(report) \(output)")
        withExtendedLifetime(keys) {}
        #expect(report.requests <= 2 * Self.count)
    }

    private static func installation(
        at port: UInt16, key: String
    ) async throws -> ServiceUnderTest {
        try await ServiceUnderTest(
            sections: """
                [apns]
                via = http://127.0.0.1:\(port)
                via-key = \(key)
                [broadcast]
                heartbeat = off
                fetches-per-second = 0

                """, serving: .nothing)
    }

    private static func report(
        of peer: PushPythonPeer, where isWanted: (PushPythonPeer.Report) -> Bool
    ) async throws -> PushPythonPeer.Report {
        while true {
            let report = try peer.report()
            if isWanted(report) { return report }
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}
