import Foundation
import Testing
import WakeModel

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
        #expect(
            words.contains(
                "\(grouped(BucketBitmap.buckets)) values the first 20 bits"))
    }

    @Test("how much room is kept, and how long a relay keeps a push token")
    func others() throws {
        let zeros = try description("reveille_service_state", "reserve")
        #expect(zeros.contains("\(grouped(Limits.reserveBytes)) of them"))
        #expect(Limits.relaySeconds == 5 * 60)
        #expect(text.contains("push tokens in memory until told, at most five minutes"))
    }
}
