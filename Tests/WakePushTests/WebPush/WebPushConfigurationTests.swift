import Testing
import WakeFetch
import WakeModel

@testable import WakePush

@Suite("Web Push configuration")
struct WebPushConfigurationTests {
    private func configuration(_ section: [String: String]) throws -> WebPushConfiguration {
        try #require(try WebPushConfiguration(section: section.merging(["key": "/k"]) { $1 }))
    }

    private static func message(_ fault: GatewaySectionFault) -> String {
        fault.message(section: "webpush", words: WebPushConfiguration.words)
    }

    @Test("a section with a key alone has the defaults")
    func defaults() throws {
        let configuration = try configuration([:])
        #expect(configuration.key == "/k" && configuration.subject == nil)
        #expect(configuration.hosts == .known && configuration.body == .empty)
        #expect(configuration.connect == nil && configuration.networks.isEmpty)
        #expect(configuration.perHost == 64 && configuration.authorityFile == nil)
        #expect(!configuration.heartbeat)
        #expect(try WebPushConfiguration(section: [:]) == nil)
    }

    @Test("every key is taken")
    func whole() throws {
        let configuration = try configuration([
            "subject": "mailto:push@example.org", "hosts": "known, up.example.org",
            "body": "byte", "ca": "/ca", "connect": "[::1]:8443",
            "networks": "10.0.0.0/8, fd00::/8", "per-host": "4", "heartbeat": "on",
        ])
        #expect(configuration.subject == "mailto:push@example.org")
        #expect(configuration.hosts.named == 1 && configuration.body == .byte)
        #expect(configuration.authorityFile == "/ca" && configuration.perHost == 4)
        #expect(configuration.heartbeat)
        #expect(configuration.connect?.port == 8443)
        #expect(configuration.connect?.address == IPAddress("::1"))
        #expect(configuration.networks.count == 2)
        let words = Set(WebPushConfiguration.words.map(\.name))
        #expect(
            words == [
                "key", "subject", "hosts", "body", "ca", "connect", "networks", "per-host",
                "heartbeat", "nat64",
            ])
    }

    @Test(
        "a value that is not of its key's form is named",
        arguments: [
            ("subject", "push@example.org"), ("subject", "mailto:"), ("subject", "mailto:x"),
            ("subject", "http://example.org"), ("subject", "https://"),
            ("subject", "mailto:a@b\""), ("subject", "mailto:push@localhost"),
            ("subject", "mailto:push@mailhost"), ("subject", "mailto:@example.org"),
            ("subject", "mailto:push@a.localhost"), ("subject", "mailto:push@a.test"),
            ("subject", "mailto:push@a.Example"), ("subject", "mailto:push@a.invalid"),
            ("subject", "mailto:push@a.local"), ("subject", "mailto:push@192.0.2.1"),
            ("subject", "https://localhost/push"), ("subject", "https://a.test:8443/"),
            ("subject", "https://user@example.org/"), ("heartbeat", "yes"),
            ("hosts", ""), ("hosts", "https://ntfy.sh"),
            ("hosts", "localhost"), ("body", "bytes"), ("connect", "127.0.0.1"),
            ("connect", "localhost:443"), ("connect", "127.0.0.1:0"), ("connect", "::1:443"),
            ("connect", "[127.0.0.1]:443"), ("connect", "127.1:443"), ("networks", ""),
            ("nat64", "10.0.0.0/8"), ("nat64", "2001:db8::/95"), ("nat64", "2001:db8::"),
            ("networks", "10.0.0.1/8"), ("networks", "10.0.0.0"), ("per-host", "0"),
            ("per-host", "257"), ("per-host", "x"),
        ])
    func bad(_ key: String, _ value: String) throws {
        #expect(throws: GatewaySectionFault.badValue(key)) { try configuration([key: value]) }
        let message = Self.message(.badValue(key))
        #expect(message.hasPrefix("[webpush] \(key) has no proper value\nhint: "))
    }

    @Test(
        "a subject is an address of a domain that others can look up",
        arguments: [
            "mailto:push@example.org", "mailto:push@mail.example.org?subject=push",
            "https://example.org", "https://wake.example.org:8443/contact?a=b",
        ])
    func subject(_ text: String) throws {
        #expect(try configuration(["subject": text]).subject == text)
    }

    @Test("a section without a key is named")
    func missing() {
        #expect(throws: GatewaySectionFault.missing("key")) {
            try WebPushConfiguration(section: ["body": "byte"])
        }
        #expect(Self.message(.missing("key")).contains("keygen --kind vapid"))
    }

    @Test("a file of authorities that holds none is said before anything is sent")
    func authorities() throws {
        var configuration = try configuration([:])
        configuration.authorityFile = "/dev/null"
        #expect(throws: PushEngineError.self) { try configuration.checkAuthorities() }
        configuration.authorityFile = nil
        try configuration.checkAuthorities()
    }
}
