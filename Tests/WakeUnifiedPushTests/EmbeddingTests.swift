import Reveille
import TestSupport
import Testing
import WakeUnifiedPush

/// What an app writes to be woken by UnifiedPush.
@Suite("Embedding a connector")
struct EmbeddingTests {
    private struct NoSecrets: LocalSecrets {
        func generation() -> UInt64 { 0 }
        func lend(to body: (_ id: String, _ secret: Span<UInt8>) -> Void) {}
    }

    private struct Silent: MatchHandler {
        func didFind(_ match: Match) {}
        func didWarn(_ warning: Warning) {}
    }

    private func client(in directory: TemporaryDirectory) throws(ClientError) -> WakeClient {
        try WakeClient(
            ClientConfiguration(
                feed: "https://feed.example/", feedKey: Self.key,
                service: "https://wake.example", stateDirectory: directory.path + "/state",
                cacheDirectory: directory.path + "/cache"),
            secrets: NoSecrets(), handler: Silent())
    }

    /// The public key of RFC 8032 §7.1, test 1.
    private static let key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

    @Test("a connector lives beside its client, and ends when its task does")
    func beside() async throws {
        let directory = try TemporaryDirectory()
        let client = try client(in: directory)
        let pushes = try UnifiedPushConnector(
            client, name: "org.example.App", distributor: "org.unifiedpush.Distributor.example")
        #expect(await pushes.status == .stopped)
        let woken = Task { await pushes.run() }
        woken.cancel()
        await woken.value
        #expect(await pushes.status == .stopped)
    }

    @Test("what cannot work is said when the connector is made")
    func refused() async throws {
        let directory = try TemporaryDirectory()
        let client = try client(in: directory)
        let distributor = "org.unifiedpush.Distributor.example"
        for name in ["", "app", "org.example.", "org.example.1a", ":1.5", "org.example.a'b"] {
            #expect(throws: UnifiedPushError.name) {
                try UnifiedPushConnector(client, name: name, distributor: distributor)
            }
        }
        for name in ["", "org.example.App", "org.unifiedpush.Distributor.", distributor + "'"] {
            #expect(throws: UnifiedPushError.name) {
                try UnifiedPushConnector(client, name: "org.example.App", distributor: name)
            }
        }
        #expect(throws: UnifiedPushError.description) {
            try UnifiedPushConnector(
                client, name: "org.example.App", distributor: distributor,
                description: String(repeating: "x", count: 101))
        }
        let point = "B" + String(repeating: "A", count: 86)
        for key in ["", "BAAA", point + "A", "C" + point.dropFirst(), point.dropLast() + "+"] {
            #expect(throws: UnifiedPushError.vapidKey) {
                try UnifiedPushConnector(
                    client, name: "org.example.App", distributor: distributor, vapidKey: key)
            }
        }
        _ = try UnifiedPushConnector(
            client, name: "org.example.App", distributor: distributor, vapidKey: point)
    }
}
