import Foundation
import Glibc
import TestSupport
import Testing

@Suite(
    "What each learns of a registration without an address", .timeLimit(.minutes(5)),
    .enabled(if: ObliviousRelay.program != nil, ObliviousRelay.missing))
struct ObliviousPrivacyTests {
    /// An address that nothing else has, as text.
    private static let source = "127.93.87.71"

    @Test(
        "the service never has the address, the relay never a token",
        .enabled(if: ObliviousPeer.isInstalled, "needs python3 with cryptography"))
    func apart() async throws {
        let place = try await ObliviousPlace()
        let devices = (0..<10).map { _ in TestDevice() }
        let plans = devices.flatMap { device in
            ["PUT", "GET", "PUT"].map { method in
                var plan = place.plan(method, device)
                plan.source = Self.source
                return plan
            }
        }
        let answers = try await ObliviousPeer.exchange(plans)
        #expect(answers.allSatisfy { [204, 200].contains($0.inner?.status) })
        let tokens = devices.flatMap(\.forms)

        let (service, relay) = (place.service.program, place.relay.program)
        // The address as text alone: four bytes may be anything.
        let address = Array(Self.source.utf8)
        let said = [service.output, relay.output]
        #expect(said.allSatisfy { !$0.contains(Self.source) })
        for device in devices {
            #expect(said.allSatisfy { !$0.contains(device.token) && !$0.contains(device.pushText) })
        }
        #expect(try place.service.files(containing: [address] + tokens).isEmpty)
        guard geteuid() == 0,
            ProcessMemory.hits([Array("nginx".utf8)], of: relay.identifier) != nil
        else { return }
        #expect(ProcessMemory.hits([address], of: service.identifier) == 0)
        #expect(ProcessMemory.hits(tokens, of: relay.identifier) == 0)
        // As with plain registrations: what was served is overwritten.
        let middles = tokens.map { Array($0.dropFirst(8).prefix(16)) }
        var left = Int.max
        for _ in 0..<50 where left > 0 {
            _ = try place.service.send("GET", "/health")
            left = ProcessMemory.hits(middles, of: service.identifier) ?? 0
        }
        #expect(left == 0)
    }

    @Test("a client registers, reads and leaves through the relay, and sends nothing past it")
    func client() async throws {
        let place = try await ObliviousPlace()
        let client = try await place.client()
        let device = TestDevice()
        // It has seen no head yet: it fetches the one that names the key.
        #expect(try await client.register(device) == 0)
        #expect(try place.service.rows() == 1)
        #expect(try await client.command("stored").output.contains("service  apns"))
        #expect(try await client.command("unregister").status == 0)
        #expect(try place.service.rows() == 0)
        #expect(try await place.count("oblivious_opened") == 3)
        // The service saw no request of another kind.
        #expect(try await place.count("registers") == 1)
        #expect(try await place.count("reads") == 1)
        #expect(try await place.count("deletes") == 1)
        // Without a relay there is no way, also not the direct one.
        await place.relay.stop(SIGKILL)
        #expect(try await client.register(device) == 75)
        #expect(try place.service.rows() == 0)
        #expect(try await place.count("registers") == 1)
    }

    @Test("a client that is offered a key of its own refuses, and takes the next when it is named")
    func otherKey() async throws {
        let place = try await ObliviousPlace()
        let client = try await place.client()
        let device = TestDevice()
        let file = URL(filePath: place.service.directory.path + "/service/feed/ohttp-keys")
        let right = try Data(contentsOf: file)
        var wrong = right
        wrong[10] ^= 1
        try wrong.write(to: file)
        #expect(try await client.command("sync").status == 0)
        let refused = try await client.command(
            "register", "apns", input: Array(device.pushText.utf8))
        #expect(refused.status == 75)
        #expect(refused.output.contains("do not agree on a key"), "\(refused.output)")
        #expect(try place.service.rows() == 0)
        try right.write(to: file)
        #expect(try await client.register(device) == 0)

        // With a new key, and later without the former one, the client goes on.
        try await place.replaceKey()
        #expect(try await client.command("stored").status == 0)
        #expect(try await client.command("sync").status == 0)
        try await place.forgetFormerKey()
        #expect(try await client.command("sync").status == 0)
        #expect(try await client.command("stored").output.contains("service  apns"))

        // Not even a key that was replaced without a trace stops it: the head is fetched again.
        for command in ["stored", "unregister"] {
            let reloaded = try await place.exchangeKey()
            #expect(reloaded.contains("oblivious.key"), "\(reloaded)")
            let ended = try await client.command(command)
            #expect(ended.status == 0, "\(ended.output)")
        }
        #expect(try place.service.rows() == 0)
        // Nothing of it is left, not even that there was a relay.
        #expect(try client.files().keys.contains { $0.hasSuffix("/ohttp-keys") })
        #expect(try await client.command("forget").status == 0)
        #expect(try client.files().isEmpty)
    }
}
