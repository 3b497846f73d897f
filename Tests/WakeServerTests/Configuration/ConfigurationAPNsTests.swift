import TestSupport
import Testing
import WakeModel
import WakePush

@testable import WakeServer

@Suite("The section [apns] of the configuration file")
struct ConfigurationAPNsTests {
    private func parse(_ text: String) throws -> Configuration {
        try ConfigurationParser.parse(text, directory: "/base")
    }

    private static let whole = """
        [apns]
        key = keys/AuthKey.p8
        key-id = ABC123DEFG
        team-id = TEAM123456
        topic = org.example.app

        """

    /// The whole section without one line.
    private static func without(_ key: String) -> String {
        whole.split(separator: "\n").filter { !$0.hasPrefix(key + " ") }.joined(separator: "\n")
    }

    @Test(
        "mistakes of one line are named with that line",
        arguments: [
            ("topik = a", "line 6: unknown key topik in [apns]; did you mean topic?"),
            ("keyid = a", "line 6: unknown key keyid in [apns]; did you mean key-id?"),
            ("zzzzzzzz = a", "line 6: unknown key zzzzzzzz in [apns]"),
            ("topic = b", "line 6: topic is set twice"),
            ("host =", "line 6: host takes a host name"),
        ])
    func mistakes(_ line: String, _ message: String) {
        let error = #expect(throws: SettingsFault.self) { try parse(Self.whole + line) }
        #expect(error?.message == message)
    }

    @Test(
        "without TLS only this machine is spoken to",
        arguments: ["host = push.example\nplain = on\n", "\nplain = on\n"])
    func plainToElsewhere(_ lines: String) {
        let error = #expect(throws: SettingsFault.self) { try parse(Self.whole + lines) }
        let message = "line 7: [apns] plain = on needs a host on this machine\nhint: "
        #expect(error?.message.hasPrefix(message) == true)
    }

    @Test("what check says of it holds no secret and no path")
    func words() throws {
        let off = "off: no section [apns]; its push tokens are refused"
        let states = Gateways.states(try parse(""))
        #expect(states.map(\.service) == PushService.allCases)
        #expect(states.allSatisfy { !$0.isOn && $0.summary.hasPrefix("off: ") })
        #expect(states.prefix(2).map(\.summary) == [off, off])
        let on = Gateways.states(try parse(Self.whole))
        #expect(on.map(\.isOn) == [true, true, false, false])
        #expect(on[0].summary == "on, topic org.example.app, connections 1")
        #expect(on[1].summary == on[0].summary)
    }

    private static let off =
        "off: not among the environments of [apns]; its push tokens are refused"

    @Test("an environment that is left out is off")
    func environments() throws {
        #expect(try parse(Self.whole).apnsEnvironments == .both)
        #expect(try parse(Self.whole + "environments = both\n").apnsEnvironments == .both)
        let production = try parse(Self.whole + "environments = production\n")
        #expect(Gateways.states(production).map(\.isOn) == [true, false, false, false])
        #expect(Gateways.states(production)[1].summary == Self.off)
        #expect(Gateways.connections(production) == 4)
        let sandbox = try parse(Self.whole + "environments = sandbox\n")
        #expect(Gateways.states(sandbox).map(\.isOn) == [false, true, false, false])
        #expect(Gateways.states(sandbox)[0].summary == Self.off)
        // The key says nothing without the section's others.
        let alone = #expect(throws: SettingsFault.self) {
            try parse("[apns]\nenvironments = production\n")
        }
        #expect(alone?.message.hasPrefix("line 1: [apns] lacks key\n") == true)
    }

    @Test("through a relay, too, only the environments that are named are woken")
    func relayedEnvironments() throws {
        let via = "[apns]\nvia = https://wake.example.org\nvia-key = k\n"
        #expect(Gateways.states(try parse(via)).map(\.isOn) == [true, true, false, false])
        let production = try parse(via + "environments = production\n")
        #expect(production.apnsRelay != nil && production.apns == nil)
        #expect(Gateways.states(production).map(\.isOn) == [true, false, false, false])
    }

    @Test(
        "no gateway is made for an environment that is left out, and its push tokens are refused",
        .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
    func gateways() throws {
        let pair = try SigningKeyPair()
        let directory = try TemporaryDirectory()
        let whole = Self.whole.replacing("keys/AuthKey.p8", with: pair.privatePath)
        let all: [(String, [PushService])] = [
            ("", [.apns, .apnsSandbox]), ("environments = both\n", [.apns, .apnsSandbox]),
            ("environments = production\n", [.apns]),
            ("environments = sandbox\n", [.apnsSandbox]),
        ]
        for (line, services) in all {
            let configuration = try ConfigurationParser.parse(
                whole + line, directory: directory.path)
            let gateways = try GatewaySet(configuration).all
            #expect(gateways.map(\.service) == services)
            for service in [PushService.apns, .apnsSandbox] {
                let token = try PushToken(
                    service: service, bytes: [UInt8](repeating: 0x41, count: 32))
                let problem = Admission(gateways).problem(with: token)
                #expect(problem == (services.contains(service) ? nil : .serviceOff))
            }
        }
    }

    @Test("a key that cannot be read is a fault of the environment that is on")
    func faultyKey() throws {
        let sandbox = try parse(Self.whole + "environments = sandbox\n")
        #expect(Gateways.faults(sandbox).map(\.service) == [.apnsSandbox])
    }
}
