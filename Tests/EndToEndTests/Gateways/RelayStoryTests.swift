import Foundation
import TestSupport
import Testing

@Suite(
    "An installation without Apple's key, its app's owner, and a push service",
    .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RelayStoryTests {
    @Test("everybody is woken, and the owner's files and logs know nobody of them")
    func story() async throws {
        let place = try await RelayOwner()
        try await place.allow()
        let installation = try await place.installation()
        let devices = (0..<1_200).map { _ in TestDevice() }
        try installation.register(devices)
        let (status, output) = try await installation.command("broadcast", "--force")
        #expect(status == 0, "\(output)")
        #expect(output.contains("pushes to 1200 registrations: 1200 accepted"), "\(output)")
        let metrics = try place.metrics()
        #expect(metrics.contains("\nreveille_relay_wakes_total{delivery=\"accepted\"} 1200\n"))
        #expect(await place.owner.stop() == 0)
        let report = try await place.mock.report()
        #expect(report.distinct == 1_200 && report.duplicates == 0)
        // One connection for all requests, and one provider token.
        #expect(report.connections == 1 && report.providerTokens == 1)
        #expect(report.violations == [:] && report.refusals == [:])

        let log = place.owner.program.output
        #expect(log.contains("reveille info relay-on installations=0"), "\(log)")
        #expect(log.contains("reveille debug relay-batch accepted="), "\(log)")
        let files = try place.owner.files().mapValues(Array.init)
        #expect(files.keys.contains("keys/installations"))
        func places(of needle: [UInt8]) -> [String] {
            files.filter { $0.value.holds(needle) }.map(\.key).sorted()
        }
        // The search sees what is there.
        #expect(places(of: Array(RelayOwner.publicKey.utf8)) == ["keys/installations"])
        for device in devices.prefix(40) {
            for form in device.forms {
                #expect(places(of: form).isEmpty)
                #expect(!Array(log.utf8).holds(form))
                #expect(!Array(metrics.utf8).holds(form))
            }
        }
        #expect(!log.contains(RelayOwner.publicKey) && !log.contains("village"))
    }

    @Test("a revoked installation is refused from its next request on, and loses nobody")
    func revoked() async throws {
        let place = try await RelayOwner()
        let installation = try await place.installation()
        let devices = (0..<20).map { _ in TestDevice() }
        try installation.register(devices)
        func broadcast() async throws -> (status: Int32, output: String) {
            try await installation.command("broadcast", "--force")
        }
        let unknown = try await broadcast()
        #expect(unknown.status == 1, "\(unknown.output)")
        #expect(unknown.output.contains("does not allow this installation"))
        try await place.allow()
        let allowed = try await broadcast()
        #expect(allowed.status == 0, "\(allowed.output)")
        #expect(allowed.output.contains("20 accepted"), "\(allowed.output)")
        let revoke = try await place.owner.command("relay", "revoke", "village")
        #expect(revoke.status == 0 && revoke.output.hasPrefix("revoked village"))
        let revoked = try await broadcast()
        #expect(revoked.status == 1, "\(revoked.output)")
        #expect(revoked.output.contains("does not allow this installation"))
        #expect(try installation.registered(devices).allSatisfy { $0 })
        #expect(
            try place.metrics().contains(
                "\nreveille_relay_refused_total{code=\"installation_unknown\"} 2\n"))
    }

    @Test("an owner whose own key or topic is wrong is said to the installation")
    func misconfigured() async throws {
        let place = try await RelayOwner(topic: "org.example.other")
        try await place.allow()
        let installation = try await place.installation()
        let devices = (0..<20).map { _ in TestDevice() }
        try installation.register(devices)
        let (status, output) = try await installation.command("broadcast", "--force")
        #expect(status == 1, "\(output)")
        #expect(output.contains("own gateway to this push service is misconfigured"), "\(output)")
        #expect(try installation.registered(devices).allSatisfy { $0 })
        _ = try await place.owner.program.line(
            containing: "reveille error gateway-stopped service=apns")
    }

    @Test("a relay that is not there deletes nothing")
    func dead() async throws {
        let place = try await RelayOwner()
        try await place.allow()
        let installation = try await place.installation()
        let devices = (0..<20).map { _ in TestDevice() }
        try installation.register(devices)
        #expect(await place.owner.stop() == 0)
        let (status, output) = try await installation.command("broadcast", "--force")
        #expect(status == 1, "\(output)")
        #expect(output.contains(" 0 accepted, 20 waiting for a gateway "), "\(output)")
        #expect(try installation.registered(devices).allSatisfy { $0 })
    }

    @Test(
        "an installation of nothing but invented push tokens takes nothing from another",
        arguments: [7200, 28_800])
    func invented(_ interval: Int) async throws {
        let place = try await RelayOwner(["--answer-token", "eeeeee:400:BadDeviceToken"])
        try await place.allow()
        try await place.allow(RelayOwner.otherPublicKey, as: "hamlet")
        let rubbish = try await place.installation(interval: interval)
        let honest = try await place.installation(RelayOwner.otherSeed)
        try rubbish.register((0..<150).map { _ in TestDevice(pushPrefix: [0xEE, 0xEE, 0xEE]) })
        let devices = (0..<30).map { _ in TestDevice(pushPrefix: [0x11]) }
        try honest.register(devices)
        for _ in 0..<2 {
            let first = try RunningProgram(
                "reveille", ["broadcast", "--force", "--config", rubbish.configuration])
            let own = try await honest.command("broadcast", "--force")
            let other = await first.finished()
            #expect(other.output.contains(": 0 accepted"), "\(other.output)")
            #expect(own.status == 0 && own.output.contains(": 30 accepted"), "\(own.output)")
        }
        #expect(try honest.registered(devices).allSatisfy { $0 })
    }

    @Test("a push service that calls everybody gone trips the installation's own brake")
    func brake() async throws {
        let place = try await RelayOwner(["--answer-all", "410:Unregistered"])
        try await place.allow()
        let installation = try await place.installation()
        let devices = (0..<2_000).map { _ in TestDevice() }
        try installation.register(devices)
        let (status, output) = try await installation.command("broadcast", "--force")
        #expect(status == 1, "\(output)")
        #expect(output.contains("2000 gone"), "\(output)")
        #expect(output.contains("the push service rejected an implausible number of"))
        #expect(try installation.registered(devices).count { !$0 } <= 2)
    }

    @Test("what is gone for APNs is deleted by the installation, and nothing else")
    func gone() async throws {
        let place = try await RelayOwner(["--answer-token", "eeeeee:410:Unregistered"])
        try await place.allow()
        let installation = try await place.installation()
        let marked = (0..<3).map { _ in TestDevice(pushPrefix: [0xEE, 0xEE, 0xEE]) }
        let devices = (0..<300).map { _ in TestDevice(pushPrefix: [0x11]) }
        try installation.register(marked + devices)
        let (status, output) = try await installation.command("broadcast", "--force")
        #expect(status == 0, "\(output)")
        #expect(try installation.registered(marked) == [false, false, false])
        #expect(try installation.registered(devices).allSatisfy { $0 })
    }
}
