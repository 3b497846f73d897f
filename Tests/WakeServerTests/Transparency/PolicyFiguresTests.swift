import Foundation
import TestSupport
import Testing
import WakeModel
import WakePush
import WakeStore

@testable import WakeServer

/// The figures that the policy tells people are those of the program: whoever changes one has to
/// change what is promised.
@Suite("The policy's figures are those in force")
struct PolicyFiguresTests {
    private let text = String(decoding: PrivacyPolicy.document, as: UTF8.self)

    private func grouped(_ number: Int) -> String {
        var text = String(number)
        var place = text.count - 3
        while place > 0 {
            text.insert(",", at: text.index(text.startIndex, offsetBy: place))
            place -= 3
        }
        return text
    }

    private func description(_ dataset: String, _ collection: String) throws -> String {
        let found = try #require(PolicyDocument.inForce.dataset(dataset))
        let part = try #require(found.collections.first { $0.name == collection })
        return ([part.description] + part.fields.map(\.description)).joined(separator: "\n")
    }

    @Test("the public counters are those it declares, in its words, with the noise it says")
    func counters() throws {
        let dataset = try #require(PolicyDocument.inForce.dataset("reveille_counters"))
        let declared = try #require(dataset.collections.first).fields
        #expect(declared.map(\.name) == PublicCounter.allCases.map { "\($0.name)" })
        let labels = PublicCounter.allCases.map { PageText.all[0][$0.part] }
        #expect(declared.map(\.description) == labels)
        #expect(text.contains(#""noise_scale": "\#(CountNoise.scale)""#))
        // A row may be read twice.
        let epsilon = 2 / Double(CountNoise.scale)
        #expect(text.contains(#""epsilon_per_generation": "\#(epsilon)""#))
        #expect(dataset.description.contains("scale \(CountNoise.scale)"))
        #expect(dataset.description.contains("e^\(epsilon)"))
    }

    @Test("how many broadcasts are remembered, and how often anybody is woken")
    func broadcasts() throws {
        let words = try description("reveille_service_state", "broadcast")
        #expect(BroadcastSchedule.broadcastsPerHour == 3)
        #expect(words.contains("the last three broadcasts"))
        #expect(words.contains("more than three times an hour"))
    }

    @Test("the precision of the checkpoint")
    func buckets() throws {
        let words = try description("reveille_service_state", "checkpoint")
        #expect(RunPosition.bucketBits == 32 - 20)
        #expect(words.contains("the first 20 bits of the id"))
    }

    @Test("how much room is kept, and how long a relay keeps a push token")
    func others() throws {
        let zeros = try description("reveille_service_state", "reserve")
        #expect(zeros.contains("\(grouped(Limits.reserveBytes)) of them"))
        #expect(Limits.relaySeconds == 5 * 60)
        #expect(text.contains("push tokens in memory until told, at most five minutes"))
    }

    /// A document of the policy as one line.
    private func prose(_ name: String) throws -> String {
        try Repository.text("Policy/" + name).split { $0.isWhitespace }.joined(separator: " ")
    }

    @Test("what PRIVACY.md says in numbers about times, counts and words")
    func privacy() throws {
        let prose = try prose("PRIVACY.md")
        let (shortest, longest) = (
            RotationSchedule.days.lowerBound, RotationSchedule.days.upperBound
        )
        #expect(RotationSchedule.longestRenewal == 56 * 3600 && Limits.logMilliseconds * 2 <= 1000)
        #expect(RegistrationBudget.prefixSeconds == 600)
        for words in [
            "one of \(grouped(RegistrationBudget.places)) places",
            "Each number leaks away within ten minutes",
            "that of all within the longest life of a row (\(2 * shortest) days)",
            "not renewed it for \(shortest) to \(2 * shortest) days",
            "every 1 to 2 days and 8 hours", "gone from the files within a second",
            "Every \(shortest) days (an operator can choose up to \(longest))",
            "after \(2 * longest) days, twice the longest time of a generation",
            "replaced every \(APNsTokenPolicy.usual / 60) minutes",
            "about the last three broadcasts", "more than three pushes",
        ] {
            #expect(prose.contains(words), "\(words)")
        }
        let log = try #require(PolicyDocument.inForce.dataset("reveille_log"))
        #expect((25...39).contains(log.collections.count) && prose.contains("some thirty events"))
        let ends = try #require(text.firstMatch(of: /"words_goaway": "([^"]*)"/)).1.split(
            separator: " ")
        let names = ends.count { $0 != "none" && $0 != "other" }
        #expect(names == 30 && prose.contains("one of thirty names, or as `other`"))
    }

    @Test("what THREATS.md says in numbers about new registrations")
    func threats() throws {
        let prose = try prose("THREATS.md")
        var store = StoreConfiguration(dataDirectory: "", keyFile: nil)
        store.maxPages = Configuration(directory: "").storeMegabytes * 256
        let rows = store.newRowPages * 5
        let life = 2 * RotationSchedule.days.lowerBound * 86_400
        let free = RegistrationBudget.free(.init(rows: rows, lifeSeconds: life))
        #expect(rows / 100_000 == 26 && Configuration(directory: "").newPerPrefix == 16)
        for words in [
            "has about sixteen in ten minutes",
            "\(grouped(free.atOnce / 1000 * 1000)) of the 2.6 million of the default `megabytes`",
            "\(grouped(free.perDay / 100 * 100)) a day",
            "2^\(RegistrationBudget.bits.lowerBound) hashes",
            "up to 2^\(RegistrationBudget.bits.upperBound)",
            "unless more than \(Limits.griddedWrites) writes are made durable together",
            "has a log of up to half a second with it",
        ] {
            #expect(prose.contains(words), "\(words)")
        }
    }
}
