import Testing
import WakeFiles
import WakeModel
import WakeSodium

@testable import WakeFeed

@Suite("Matcher")
struct MatcherTests {
    @Test("matches equal the plain intersection of local and published digests")
    func property() throws {
        var generator = SeededGenerator(state: 3)
        for round in 0..<60 {
            let width = DigestWidth.allCases[round % 3]
            let salt =
                round % 2 == 0 ? BatchSalt([UInt8](repeating: UInt8(round + 1), count: 16)) : nil
            let published = Set((0..<Int.random(in: 0..<600, using: &generator)))
            let local = (0..<Int.random(in: 0..<200, using: &generator)).map { _ in
                Int.random(in: 0..<1200, using: &generator)
            }
            let digests = published.map {
                Digest(of: SecretBytes(Sample.secret($0)), salt: salt, width: width)
            }.sorted()
            var bytes: [UInt8] = []
            for digest in digests { digest.append(to: &bytes, width: width) }
            let matcher = Matcher(
                secrets: local.map(Sample.localSecret), width: width, salt: salt)
            var scan = DigestScan(matcher: matcher)
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + Int.random(in: 1..<200, using: &generator))
                scan.scan(bytes.span.extracting(start..<end))
                start = end
            }
            #expect(scan.isAscending && scan.count == digests.count)
            let found = scan.hits.flatMap { $0.secrets }
            let expected = local.indices.filter { published.contains(local[$0]) }
            #expect(found.sorted() == expected, "round \(round)")
            for hit in scan.hits {
                for secret in hit.secrets {
                    let digest = Digest(
                        of: SecretBytes(Sample.secret(local[secret])), salt: salt, width: width)
                    #expect(digests[hit.index] == digest)
                }
            }
        }
    }

    @Test("digests that begin with eight zeros are found like any other")
    func zeros() {
        let matcher = Matcher(secrets: [], width: .standard, salt: nil)
        #expect(
            matcher.secrets(with: Digest([UInt8](repeating: 0, count: 16).span, width: .standard))
                .isEmpty)
        var scan = DigestScan(matcher: matcher)
        var bytes = [UInt8](repeating: 0, count: 48)
        bytes[31] = 1
        bytes[47] = 2
        scan.scan(bytes.span)
        #expect(scan.isAscending && scan.hits.isEmpty && scan.count == 3)
    }

    @Test("two local names for one secret are both told")
    func sameSecret() throws {
        let place = try FeedPlace()
        defer { place.remove() }
        _ = try place.publisher().publish(try Sample.input([1]), now: FeedPlace.now)
        let twin = LocalSecret(id: "twin", bytes: SecretBytes(Sample.secret(1)))
        let report = try place.verify(secrets: [Sample.localSecret(1), twin])
        #expect(Set(report.matches.map(\.secretID)) == ["1", "twin"])
        #expect(Set(report.matches.map(\.matchID)).count == 1)
    }

    @Test("the same item published twice, salted and not, is one match; another note is another")
    func matchIDs() throws {
        let place = try FeedPlace()
        defer { place.remove() }
        let publisher = place.publisher()
        let now = FeedPlace.now
        var options = PublishOptions()
        _ = try publisher.publish(try Sample.input([1]), options: options, now: now)
        options.isSalted = false
        options.again = true
        _ = try publisher.publish(try Sample.input([1]), options: options, now: now)
        options.width = .short
        _ = try publisher.publish(try Sample.input([1], note: "x"), options: options, now: now)
        _ = try publisher.publish(try Sample.input([1], note: "y"), options: options, now: now)
        let matches = try place.verify(secrets: [Sample.localSecret(1)]).matches
        #expect(matches.map(\.sequence) == [1, 2, 3, 4])
        #expect(matches.map(\.note) == [nil, nil, Array("x".utf8), Array("y".utf8)])
        #expect(Set(matches.map(\.matchID)).count == 3)
        #expect(matches[0].matchID == matches[1].matchID)
    }

    @Test("a secret added later is found in a kept batch, note and all, without a request")
    func offline() throws {
        let place = try FeedPlace()
        defer { place.remove() }
        let options = PublishOptions(noteBytes: 64)
        _ = try place.publisher().publish(
            try Sample.input(0..<50, note: "hello"), options: options, now: FeedPlace.now)
        let name = try place.verifiedHead().plan[0].name
        let file = try MappedFile(place.directory + "/b/" + name, limit: 5 << 20)
        let cached = try CachedBatch(file, feedID: place.publicKey.feedID)
        let secrets = (40..<60).map(Sample.localSecret)
        let online = try place.verify(secrets: secrets).matches
        let offline = cached.matches(of: secrets)
        #expect(online.count == 10)
        #expect(Set(offline.map(\.matchID)) == Set(online.map(\.matchID)))
        #expect(offline.allSatisfy { $0.note == Array("hello".utf8) && $0.sequence == 1 })
        #expect(cached.matches(of: []).isEmpty)
    }

    @Test("a kept file that is cut, too long, or another feed's is refused")
    func offlineRefuses() throws {
        let place = try FeedPlace()
        defer { place.remove() }
        _ = try place.publisher().publish(try Sample.input([1]), now: FeedPlace.now)
        let bytes = try place.batchBytes(try place.verifiedHead().plan[0].name)
        func error(_ bytes: [UInt8], seed: UInt8 = 1) throws -> FeedError? {
            let path = place.path + "/kept"
            try Files.replace(path, with: bytes.span)
            let file = try MappedFile(path, limit: 5 << 20)
            let key = FeedKey(
                SigningKey(seed: [UInt8](repeating: seed, count: 32).span).verifyingKey)
            return failure { () throws(FeedError) in
                _ = try CachedBatch(file, feedID: key.feedID)
            }
        }
        #expect(try error(bytes) == nil)
        #expect(try error(bytes, seed: 2) == .wrongFeed)
        for length in [0, 1, 255, 256, bytes.count - 1] {
            #expect(try error(Array(bytes[..<length])) == .truncated)
        }
        #expect(try error(bytes + [0]) == .tooLarge)
    }

    @Test("secrets, matches and their texts show nothing of what they hold")
    func redacted() throws {
        let secret = LocalSecret(id: "diagnosis", bytes: SecretBytes(Sample.secret(1)))
        let id = try #require(MatchID(bytes: [UInt8](repeating: 1, count: 16)))
        let match = FeedMatch(matchID: id, secretID: "diagnosis", note: [1], sequence: 1)
        for text in [
            "\(secret)", String(reflecting: secret), "\(match)", String(reflecting: match),
        ] {
            #expect(text == "(local secret)" || text == "(match)")
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
