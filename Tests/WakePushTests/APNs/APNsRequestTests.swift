import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("The one request to APNs", .enabled(if: OpenSSLCommand.isInstalled, "needs openssl"))
struct APNsRequestTests {
    @Test("it is what Apple asks for, with an empty payload and an expiration ahead")
    func template() throws {
        let credentials = try ProviderTokenTests.credentials(SigningKeyPair())
        let token = try #require(ProviderToken(mintedBy: credentials, at: ProviderTokenTests.start))
        let endpoint = try #require(GatewayEndpoint.apns(.apns))
        let template = APNsRequest(endpoint, topic: "org.example.app", now: 1000, lifetime: 7200)
            .template(token)
        #expect(template.scheme == "https" && template.authority == "api.push.apple.com")
        #expect(template.path == "/3/device/")
        #expect(template.body == Array(#"{"aps":{"content-available":1}}"#.utf8))
        #expect(template.bodyTail.isEmpty && !template.indexesAuthorization)
        let fields = template.fields.map {
            String(decoding: $0.name, as: UTF8.self) + ": "
                + String(decoding: $0.value, as: UTF8.self)
        }
        #expect(
            fields == [
                "apns-topic: org.example.app", "apns-push-type: background", "apns-priority: 5",
                "apns-expiration: 8200", "content-length: 31",
            ])
        #expect(template.authorization == Array("bearer ".utf8) + token.text.copy())
    }

    @Test("production and sandbox have hosts of their own, other services none")
    func hosts() {
        #expect(GatewayEndpoint.apns(.apns)?.host == "api.push.apple.com")
        #expect(GatewayEndpoint.apns(.apnsSandbox)?.host == "api.sandbox.push.apple.com")
        #expect(GatewayEndpoint.apns(.apns)?.port == 443)
        #expect(GatewayEndpoint.apns(.fcm) == nil && GatewayEndpoint.apns(.webPush) == nil)
        var endpoint = GatewayEndpoint.apns(.apns)
        endpoint?.host = "::1"
        endpoint?.port = 2197
        #expect(endpoint?.authority == "[::1]:2197")
    }

    static let section = [
        "key": "/k.p8", "key-id": "ABC123DEFG", "team-id": "TEAM123456", "topic": "org.example",
    ]

    @Test("a section of four keys is enough, and no section is no gateway")
    func configuration() throws {
        #expect(try APNsConfiguration(section: [:]) == nil)
        let configuration = try #require(try APNsConfiguration(section: Self.section))
        #expect(configuration.endpoint(.apns) == GatewayEndpoint.apns(.apns))
        #expect(configuration.endpoint(.fcm) == nil)
        let moved = Self.section.merging(
            ["host": "127.0.0.1", "port": "9", "ca": "/ca", "plain": "on"]) { $1 }
        let endpoint = try #require(try APNsConfiguration(section: moved)?.endpoint(.apnsSandbox))
        #expect(endpoint.authority == "127.0.0.1:9" && endpoint.isPlain)
        #expect(endpoint.authorityFile == "/ca")
    }

    @Test(
        "a section that lacks a key or has a bad value says which",
        arguments: ["key", "key-id", "team-id", "topic"])
    func missing(_ key: String) {
        var section = Self.section
        section[key] = nil
        #expect(throws: GatewaySectionFault.missing(key)) {
            try APNsConfiguration(section: section)
        }
        let message = GatewaySectionFault.missing(key).message(
            section: "apns", words: APNsConfiguration.words)
        #expect(message.contains("[apns] lacks \(key)\nhint:"))
    }

    @Test("bad ports, bad switches and clear text to elsewhere are refused")
    func badValues() {
        let cases: [([String: String], GatewaySectionFault)] = [
            (["port": "0"], .badValue("port")), (["port": "65536"], .badValue("port")),
            (["plain": "yes"], .badValue("plain")), (["plain": "on"], .plainToElsewhere),
            (["plain": "on", "host": "10.0.0.1"], .plainToElsewhere),
        ]
        for (more, error) in cases {
            #expect(throws: error) {
                try APNsConfiguration(section: Self.section.merging(more) { $1 })
            }
            let message = error.message(section: "apns", words: APNsConfiguration.words)
            #expect(message.contains("\nhint: "))
        }
    }
}

@Suite("The clocks of this machine")
struct APNsClockTests {
    @Test("two readings of one start differ by the time between them")
    func system() {
        let first = ClockReading.system()
        let second = ClockReading.system()
        #expect(first.boot == second.boot && first.boot.count == 16)
        #expect(first.boot.contains { $0 != 0 })
        #expect((0...5).contains(second.seconds(since: first) ?? -1))
        #expect(first.wall > 1_700_000_000)
    }
}
