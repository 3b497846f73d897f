import Foundation
import TestSupport
import Testing

/// Files of another user in the place of the client's own: with root's right to give files away.
@Suite(
    "Files of another user", .timeLimit(.minutes(5)),
    .enabled(if: geteuid() == 0, "needs the right to give files away"))
struct ForeignFilesTests {
    private static let other: uid_t = 65_534

    private func place() async throws -> (FeedSite, ClientUnderTest) {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try await site.publish(try await client.addSecret("visit"))
        return (site, client)
    }

    private func expectRefused(_ client: ClientUnderTest, _ words: String) async throws {
        for word in ["sync", "run", "status"] {
            let said = try await client.command(word)
            #expect(said.status == 78 && said.output.contains(words), "\(word)")
        }
        let doctor = try await client.command("doctor")
        #expect(doctor.status == 78 && doctor.output.contains("failed   state-directory"))
    }

    @Test("a directory that belongs to another user is refused")
    func directory() async throws {
        let (site, client) = try await place()
        defer { withExtendedLifetime(site) {} }
        #expect(unsafe chown(client.state, Self.other, Self.other) == 0)
        try await expectRefused(client, "belongs to another user")
        #expect(unsafe chown(client.state, 0, 0) == 0)
        #expect(try await client.command("sync").status == 10)
    }

    @Test("a link of another user is not followed, also where it leads to a directory of one's own")
    func link() async throws {
        let (site, client) = try await place()
        defer { withExtendedLifetime(site) {} }
        let moved = client.directory.path + "/moved"
        try FileManager.default.moveItem(atPath: client.state, toPath: moved)
        try FileManager.default.createSymbolicLink(
            atPath: client.state, withDestinationPath: moved)
        #expect(unsafe lchown(client.state, Self.other, Self.other) == 0)
        try await expectRefused(client, "no symbolic links")
        #expect(unsafe lchown(client.state, 0, 0) == 0)
        #expect(try await client.command("sync").status == 10)
    }

    @Test("secrets behind another user's link, or in another user's directory, are not read")
    func secrets() async throws {
        let (site, client) = try await place()
        defer { withExtendedLifetime(site) {} }
        let (secrets, moved) = (client.state + "/secrets", client.directory.path + "/moved")
        try FileManager.default.moveItem(atPath: secrets, toPath: moved)
        try FileManager.default.createSymbolicLink(atPath: secrets, withDestinationPath: moved)
        for (owner, status) in [(Self.other, 74), (0, 0)] as [(uid_t, Int32)] {
            #expect(unsafe lchown(secrets, owner, owner) == 0)
            #expect(try await client.command("secrets", "list").status == status)
        }
        #expect(unsafe chown(moved, Self.other, Self.other) == 0)
        #expect(try await client.command("secrets", "list").status == 74)
        #expect(unsafe chown(moved, 0, 0) == 0)
        #expect(try await client.command("sync").status == 10)
    }
}
