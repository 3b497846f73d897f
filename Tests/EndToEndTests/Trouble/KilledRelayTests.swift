import Foundation
import TestSupport
import Testing

/// An owner's relay that is killed in the middle of an installation's broadcast, and again.
@Suite(
    "A relay that is killed twice", .timeLimit(.minutes(10)),
    .enabled(if: PushPeer.isInstalled, "needs python3 with h2 (PyPI) and curl"),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct KilledRelayTests {
    private static let rows = 400

    @Test("nobody feels more than two pushes in the broadcast, and nobody is lost")
    func twice() async throws {
        let peer = try await PushPeer(.apns)
        let pair = try SigningKeyPair()
        let place = try WireServer.reservedPort()
        let address = "127.0.0.1:\(place.port)"
        let owner = try await ServiceUnderTest(
            listen: address,
            sections: PushedService.apns(peer, pair)
                + "[broadcast]\nheartbeat = off\n[relay]\nauthority = \(address)\n",
            serving: .nothing)
        let allowed = try await owner.command("relay", "allow", "village", RelayOwner.publicKey)
        #expect(allowed.status == 0, "\(allowed.output)")
        let keys = try TemporaryDirectory()
        let key = try RelayOwner.writeKey(in: keys)
        let installation = try await ServiceUnderTest(
            sections: "[apns]\nvia = http://\(address)\nvia-key = \(key)\n"
                + "[broadcast]\nheartbeat = off\n",
            serving: .nothing)
        let phones = (0..<Self.rows).map { _ in PushedToken(apns: "11") }
        try PushedToken.register(phones, installation)

        // Answers come late, so that pushes are under way at each kill.
        try await peer.set("late", 0.3)
        let round = try RunningProgram(
            "reveille", ["broadcast", "--force", "--config", installation.configuration])
        for woken in [Self.rows / 4, Self.rows * 3 / 5] {
            try await peer.report(woken: woken)
            await owner.kill()
            try await owner.restart()
        }
        let output = await round.finished().output
        let first = try await peer.report()
        #expect(first.most <= 2, "\(output)")
        #expect(try PushedToken.count(phones, installation) == Self.rows)

        try await peer.set("none")
        let again = try await installation.command("broadcast", "--force")
        #expect(again.status == 0 && again.output.contains("\(Self.rows) accepted"))
        let second = try await peer.report()
        #expect(second.woken == Self.rows && second.most <= 3, "\(again.output)")
    }
}
