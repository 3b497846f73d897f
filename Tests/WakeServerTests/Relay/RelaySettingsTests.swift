import TestSupport
import Testing

@testable import WakePush
@testable import WakeServer

@Suite("The section [relay]")
struct RelaySettingsTests {
    @Test("the section names an authority as it is signed, and where the rest is")
    func settings() throws {
        let plain = try #require(
            try RelaySettings(section: ["authority": "Wake.Example.org:443"], directory: "/d"))
        #expect(plain.authority == "wake.example.org")
        #expect(plain.installations == "/d/keys/installations")
        #expect(plain.wakesPerMinute == 60_000)
        let full = try #require(
            try RelaySettings(
                section: [
                    "authority": "127.0.0.1:8080", "installations": "/x",
                    "wakes-per-minute": "10",
                ], directory: "/d"))
        #expect(full.authority == "127.0.0.1:8080")
        #expect(full.installations == "/x")
        #expect(full.wakesPerMinute == 10)
        #expect(try RelaySettings(section: [:], directory: "/d") == nil)
    }

    @Test(
        "no other form is an authority",
        arguments: [
            "", "https://wake.example.org", "wake.example.org/", "wake.example.org:",
            "wake.example.org:0", "wake.example.org:080", "wake.example.org:65536", "a b", ":80",
            "me@wake.example.org", "a:1:2", "wäke.example.org",
        ])
    func authorities(text: String) {
        #expect(throws: GatewaySectionFault.badValue("authority")) {
            try RelaySettings(section: ["authority": text], directory: "/d")
        }
    }

    @Test("a request names the relay in either case, with or without the port of https")
    func hosts() throws {
        let settings = RelaySettings(authority: "wake.example.org", installations: "/x")
        for (host, matches) in [
            ("wake.example.org", true), ("WAKE.example.org", true),
            ("wake.example.org:443", true), ("wake.example.org:80", false),
            ("example.org", false), ("wake.example.org.", false), ("", false),
        ] {
            #expect(settings.matches(host: Array(host.utf8)[...]) == matches, "\(host)")
        }
    }

    @Test("without an authority, or with a rate that is none, the section is a mistake")
    func mistakes() {
        #expect(throws: GatewaySectionFault.missing("authority")) {
            try RelaySettings(section: ["installations": "/x"], directory: "/d")
        }
        for rate in ["0", "-1", "x", "10000001"] {
            #expect(throws: GatewaySectionFault.badValue("wakes-per-minute")) {
                try RelaySettings(
                    section: ["authority": "a", "wakes-per-minute": rate], directory: "/d")
            }
        }
    }

    @Test("lifetimes are shared in steps, each at least what was asked for up to a week")
    func lifetimes() {
        let asked = [0, 1, 7_200, 7_201, 28_800, 86_399, 86_401, 604_800, 604_801, 2_419_200]
        #expect(
            asked.map(GatewaySessionPool.sessionLifetime) == [
                7_200, 7_200, 7_200, 28_800, 28_800, 86_400, 604_800, 604_800, 604_800, 604_800,
            ])
    }
}
