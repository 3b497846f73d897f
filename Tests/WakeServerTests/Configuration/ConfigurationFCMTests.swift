import Testing
import WakeModel
import WakePush
import WakeServer

@Suite("The section [fcm] of the configuration file")
struct ConfigurationFCMTests {
    private func parse(_ text: String) throws -> Configuration {
        try ConfigurationParser.parse(text, directory: "/base")
    }

    @Test("absent or empty, there is no gateway; a key is enough, its path relative to the file")
    func whole() throws {
        #expect(try parse("").fcm == nil)
        #expect(try parse("[fcm]\n# key = a.json\n").fcm == nil)
        let fcm = try #require(try parse("[fcm]\nkey = keys/account.json\n").fcm)
        #expect(fcm.key == "/base/keys/account.json" && fcm.perMinute == 600_000)
        #expect(fcm.options.connections == 10 && fcm.topic == nil)
    }

    @Test("the other keys are read as well, beside those of [apns]")
    func others() throws {
        let text = """
            [fcm]
            key = /k.json
            per-minute = 1200000
            host = localhost
            port = 8443
            ca = ca.pem
            connections = 4
            [apns]
            key = AuthKey.p8
            key-id = ABC123DEFG
            team-id = TEAM123456
            topic = org.example.app
            """
        let configuration = try parse(text)
        let fcm = try #require(configuration.fcm)
        #expect(fcm.perMinute == 1_200_000 && fcm.options.connections == 4)
        #expect(fcm.options.host == "localhost" && fcm.options.port == 8443)
        #expect(fcm.options.authorityFile == "/base/ca.pem")
        #expect(configuration.apns?.options == EndpointOptions())
        #expect(Gateways.connections(configuration) == 4 * (1 + 4))
        #expect(Gateways.connections(try parse("")) == 0)
        #expect(Gateways.connections(try parse("[fcm]\nkey = k\n")) == 4 * 10)
        #expect(Gateways.connections(try parse("[fcm]\nkey = k\ntopic = wake\n")) == 0)
    }

    @Test(
        "a mistake is named with its line, what is missing with the section's, and what it takes",
        arguments: [
            ("connections = 2", 3, "[fcm] lacks key\nhint: set key to the path of the service "),
            (
                "key = a\nper-minute = 599", 5,
                "[fcm] per-minute has no proper value\nhint: set per-"
            ),
            ("key = a\nport = 0", 5, "[fcm] port has no proper value\nhint: set port to a number"),
            ("key = a\nplain = on", 5, "[fcm] plain = on needs a host on this machine\nhint: "),
        ])
    func mistakes(_ lines: String, _ line: Int, _ message: String) {
        let error = #expect(throws: SettingsFault.self) {
            try parse("[log]\nlevel = info\n[fcm]\n\(lines)\n")
        }
        let words = error?.message ?? ""
        #expect(words.hasPrefix("line \(line): " + message), "\(words)")
    }

    @Test("a key of another section is none of this one")
    func otherKeys() {
        let error = #expect(throws: SettingsFault.self) {
            try parse("[fcm]\nkey = a\nkey-id = b\n")
        }
        #expect(error?.message == "line 3: unknown key key-id in [fcm]")
    }

    @Test("a section that is there and empty is not called missing")
    func empty() throws {
        let states = Gateways.states(try parse("[fcm]\n# key = a.json\n"))
        #expect(states[2].summary == "off: section [fcm] is empty; its push tokens are refused")
        #expect(states[0].summary == "off: no section [apns]; its push tokens are refused")
    }

    @Test("what check says of it holds no path")
    func words() throws {
        let states = Gateways.states(try parse("[fcm]\nkey = /k.json\nhost = localhost\n"))
        #expect(states.filter(\.isOn).map(\.service) == [.fcm])
        #expect(states[2].summary == "on, at most 600000 a minute, connections 10, at localhost")
        let topics = Gateways.states(
            try parse("[fcm]\ncredentials = metadata\nproject = p\ntopic = a\ntopic-shards = 2\n"))
        #expect(
            topics[2].summary == "on, credentials metadata, topic a-0 to -1 over 60 s, "
                + "no push tokens, connections 10")
    }
}
