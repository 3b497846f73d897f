import Foundation
import TestSupport
import Testing

@Suite(
    "reveille-client doctor, in a desktop session", .timeLimit(.minutes(5)),
    .enabled(if: MessageBus.isInstalled, MessageBus.missing))
struct DoctorDesktopTests {
    private func ask(_ client: ClientUnderTest, address: String) async throws -> String {
        let program = try client.start(
            "doctor",
            environment: ["DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": "/nonexistent"])
        #expect(await program.exit() == 0, "\(program.output)")
        return program.output.split { $0.isWhitespace }.joined(separator: " ")
    }

    @Test("bus and notifications are looked up, and nothing is started")
    func session() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        let started = client.directory.path + "/started"
        let bus = try await MessageBus(services: [
            "org.freedesktop.Notifications": ["/usr/bin/touch", started]
        ])
        let gone = "unix:path=\(client.directory.path)/no-bus"
        #expect(try await ask(client, address: gone).contains("ok bus no session bus"))
        let said = try await ask(client, address: bus.address)
        #expect(said.contains("ok bus there is a session bus"), "\(said)")
        #expect(said.contains("ok notifications they can be shown"))
        let other = try await MessageBus(services: ["org.example.Distributor": ["/bin/false"]])
        #expect(try await ask(client, address: other.address).contains("no program shows any here"))
        #expect(!FileManager.default.fileExists(atPath: started))
    }
}
