import Testing
import WakeModel

@testable import WakeFeed
@testable import WakePublish

@Suite("Matcher")
struct MatcherTests {
    @Test("two local names for one secret are both told")
    func sameSecret() throws {
        let feed = try TemporaryFeed()
        _ = try feed.publisher().publish(try Sample.input([1]), now: TemporaryFeed.now)
        let twin = LocalSecret(id: "twin", bytes: SecretBytes(Sample.secret(1)))
        let report = try feed.verify(secrets: [Sample.localSecret(1), twin])
        #expect(Set(report.matches.map(\.secretID)) == ["1", "twin"])
        #expect(Set(report.matches.map(\.matchID)).count == 1)
    }

    @Test("the same item published twice, salted and not, is one match; another note is another")
    func matchIDs() throws {
        let feed = try TemporaryFeed()
        let publisher = feed.publisher()
        let now = TemporaryFeed.now
        var options = PublishOptions()
        _ = try publisher.publish(try Sample.input([1]), options: options, now: now)
        options.isSalted = false
        options.again = true
        _ = try publisher.publish(try Sample.input([1]), options: options, now: now)
        options.budget = try #require(FalseMatchBudget(bits: 40))
        _ = try publisher.publish(try Sample.input([1], note: "x"), options: options, now: now)
        _ = try publisher.publish(try Sample.input([1], note: "y"), options: options, now: now)
        let matches = try feed.verify(secrets: [Sample.localSecret(1)]).matches
        #expect(matches.map(\.sequence) == [1, 2, 3, 4])
        #expect(matches.map(\.note) == [nil, nil, Array("x".utf8), Array("y".utf8)])
        #expect(Set(matches.map(\.matchID)).count == 3)
        #expect(matches[0].matchID == matches[1].matchID)
    }

    @Test("secrets, matches and their texts show nothing of what they hold")
    func redacted() throws {
        let secret = LocalSecret(id: "diagnosis", bytes: SecretBytes(Sample.secret(1)))
        let id = try #require(MatchID(bytes: [UInt8](repeating: 1, count: 16)))
        let match = FeedMatch(matchID: id, secretID: "diagnosis", note: [1], sequence: 1)
        for text in [
            "\(secret)", String(reflecting: secret), "\(match)", String(reflecting: match),
        ] {
            #expect(text == "(LocalSecret)" || text == "(FeedMatch)")
        }
        #expect(Mirror(reflecting: secret).children.isEmpty)
        #expect(Mirror(reflecting: match).children.isEmpty)
    }

    @Test("a secret is 16 to 1024 bytes")
    func bounds() {
        for (count, isAllowed) in [(15, false), (16, true), (1024, true), (1025, false)] {
            let bytes = [UInt8](repeating: 7, count: count)
            #expect((LocalSecret(id: "", bytes: bytes.span) != nil) == isAllowed)
        }
    }
}
