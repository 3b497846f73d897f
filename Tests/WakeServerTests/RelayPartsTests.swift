import Testing
import WakePush

@testable import WakeServer

@Suite("Parts of the relay")
struct RelayPartsTests {
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
        for (host, isNamed) in [
            ("wake.example.org", true), ("WAKE.example.org", true),
            ("wake.example.org:443", true), ("wake.example.org:80", false),
            ("example.org", false), ("wake.example.org.", false), ("", false),
        ] {
            #expect(settings.isNamed(by: Array(host.utf8)[...]) == isNamed, "\(host)")
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
            asked.map(RelayLifetime.step) == [
                7_200, 7_200, 7_200, 28_800, 28_800, 86_400, 604_800, 604_800, 604_800, 604_800,
            ])
    }

    @Test("a budget gives a minute's worth at once, then what time brings, and says when")
    func budget() {
        var budget = WakeBudget(perMinute: 6_000, now: 0)
        for _ in 0..<6 { #expect(budget.take(1_000, now: 0) == nil) }
        #expect(budget.take(1_000, now: 0) == 10)
        #expect(budget.take(100, now: 999) == 1)
        #expect(budget.take(100, now: 1_000) == nil)
        #expect(budget.take(1, now: 1_000) == 1)
        #expect(budget.take(1_000, now: 11_000) == nil)
        // However long nothing is sent, it never holds more than a minute's worth.
        for _ in 0..<6 { #expect(budget.take(1_000, now: 10_000_000) == nil) }
        #expect(budget.take(1, now: 10_000_000) == 1)
    }

    @Test("the smallest budget still lets one batch through, and a later one when it said")
    func smallBudget() {
        var budget = WakeBudget(perMinute: 1, now: 0)
        #expect(budget.take(1_000, now: 0) == nil)
        #expect(budget.take(1_000, now: 0) == 60_000)
        #expect(budget.take(1, now: 59_000) != nil)
        #expect(budget.take(1, now: 60_000) == nil)
    }

    @Test("over any time, a budget gives no more than its rate and one minute's worth")
    func budgetProperty() {
        var generator = SeededGenerator(5)
        for perMinute in [1, 7, 59, 60, 61, 1_000, 60_000] {
            var budget = WakeBudget(perMinute: perMinute, now: 0)
            var now: UInt64 = 0
            var given = 0
            for _ in 0..<2_000 {
                now += UInt64.random(in: 0...700, using: &generator)
                let count = Int.random(in: 1...1_000, using: &generator)
                if budget.take(count, now: now) == nil { given += count }
                let most = max(perMinute, 1_000) + Int(now) * perMinute / 60_000 + 1
                #expect(given <= most)
            }
        }
    }
}
