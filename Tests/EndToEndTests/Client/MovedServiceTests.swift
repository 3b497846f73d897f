import Foundation
import TestSupport
import Testing

@Suite("A profile that is given another service", .timeLimit(.minutes(5)))
struct MovedServiceTests {
    /// Edits client.conf, as people do.
    private func move(_ client: ClientUnderTest, from old: String, to new: String) throws {
        let path = client.state + "/client.conf"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let moved = text.replacingOccurrences(of: "service = \(old)", with: "service = \(new)")
        #expect(moved != text)
        try moved.write(toFile: path, atomically: false, encoding: .utf8)
    }

    @Test("the old service has no row any more, the new one has one, and status tells the truth")
    func moved() async throws {
        let (old, new) = (try await ServiceUnderTest(), try await ServiceUnderTest())
        let site = try await FeedSite()
        let client = try await ClientUnderTest(
            feed: site.url, key: site.key, "--service", old.url)
        #expect(try await client.register(TestDevice()) == 0)
        #expect(try old.rows() == 1)

        try move(client, from: old.url, to: new.url)
        let before = try await client.command("status")
        #expect(before.output.contains("registration    registering"), "\(before.output)")
        // The old token is no business of the new service.
        #expect(try await client.command("stored").output.contains("nothing is registered"))
        // By itself it moves at random within ten minutes of a check; a person's wish is at once.
        let sync = try client.start("sync")
        _ = try await sync.line(containing: "a registration is due, and follows within 10 minutes")
        #expect(try old.rows() == 1 && new.rows() == 0)
        sync.signal(SIGTERM)
        _ = await sync.exit()
        #expect(try await client.register(TestDevice()) == 0)
        #expect(try old.rows() == 0 && new.rows() == 1)
        #expect(try await client.command("status").output.contains("registration    registered"))

        // An old service that does not answer: said, and never called erased.
        #expect(await new.stop() == 0)
        try move(client, from: new.url, to: old.url)
        #expect(try await client.register(TestDevice()) == 0)
        #expect(try old.rows() == 1)
        let status = try await client.command("status")
        #expect(status.output.contains("a service used before may still hold a registration"))
        let doctor = try await client.command("doctor")
        #expect(doctor.output.contains("former-service"), "\(doctor.output)")
        let left = try await client.command("unregister")
        #expect(left.status == 75 && left.output.contains("unregistering"), "\(left.output)")
        #expect(!left.output.contains("holds nothing"))
        #expect(try old.rows() == 0)
        #expect(try await client.command("forget").status != 0)
        #expect(try await client.command("forget", "--force").status == 0)
    }
}
