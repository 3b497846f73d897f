import TestSupport
import Testing
import WakeModel

@testable import WakeFeed
@testable import WakePublish

/// Searching against the plainest thing that can be right: comparing everything with everything.
@Suite("Matching, as a property")
struct MatchingPropertyTests {
    @Test("streaming finds what comparing each with each finds, however the bytes are cut")
    func oracle() throws {
        var generator = SplitMix64(seed: 3)
        var hits = 0
        for round in 0..<300 {
            let range = try Self.range(round)
            let published = Self.published(round, range, &generator)
            let local = Self.local(published, &generator)
            let values = local.map(range.value(of:))
            let expected = published.map(range.value(of:)).enumerated().compactMap { index, value in
                let secrets = values.indices.filter { values[$0] == value }
                return secrets.isEmpty ? nil : Found(index: index, secrets: secrets)
            }
            let scan = Self.scan(published, Matcher(digests: local, range: range), &generator)
            #expect(scan.isComplete, "round \(round)")
            #expect(scan.hits.map(Found.init) == expected, "round \(round)")
            hits += expected.count
        }
        #expect(hits > 1000)
    }

    @Test("derived digests, salted and not, are found by the secrets they were derived from")
    func derived() throws {
        var generator = SplitMix64(seed: 4)
        for round in 0..<60 {
            let range = try Self.range(round)
            let salt =
                round % 2 == 0 ? BatchSalt([UInt8](repeating: UInt8(round + 1), count: 16)) : nil
            let published = Set((0..<Int.random(in: 0..<600, using: &generator)))
            // With repetitions: several names for one secret.
            let local = (0..<Int.random(in: 0..<200, using: &generator)).map { _ in
                Int.random(in: 0..<1200, using: &generator)
            }
            var digests = published.map { Digest(of: SecretBytes(Sample.secret($0)), salt: salt) }
            while digests.count < range.count {
                digests.append(Digest(high: generator.next(), low: generator.next()))
            }
            let matcher = Matcher(
                digests: local.map { Digest(of: SecretBytes(Sample.secret($0)), salt: salt) },
                range: range)
            let scan = Self.scan(digests.sorted(), matcher, &generator)
            let found = scan.hits.flatMap { $0.secrets }
            let expected = local.indices.filter { published.contains(local[$0]) }
            #expect(found.sorted() == expected, "round \(round)")
        }
    }

    @Test("a code that breaks, wherever and however it is cut, is noticed and fills no memory")
    func broken() throws {
        var generator = SplitMix64(seed: 5)
        for round in 0..<200 {
            let range = try Self.range(round)
            let published = Self.published(round, range, &generator)
            var bytes = Self.code(published, range)
            let place = Int.random(in: 0..<bytes.count - 200, using: &generator)
            for byte in place..<place + 200 { bytes[byte] = 0 }
            let local = Self.local(published, &generator)
            let whole = Self.scan(bytes, Matcher(digests: local, range: range), &generator)
            let cut = Self.scan(bytes, Matcher(digests: local, range: range), &generator)
            #expect(!whole.isComplete && !cut.isComplete)
            #expect(whole.hits.map(Found.init) == cut.hits.map(Found.init))
            #expect(whole.hits.count <= local.count)
        }
    }

    @Test("a set of secrets finds the same as a new matcher for each batch")
    func shared() throws {
        let feed = try TemporaryFeed()
        var options = PublishOptions()
        for round in 0..<12 {
            options.budget = try #require(FalseMatchBudget(bits: [48, 41, 54][round % 3]))
            options.minimumDigests = round % 6 == 4 ? 2048 : 1024
            options.isSalted = round % 4 == 3
            _ = try feed.publisher().publish(
                try Sample.input(round * 3..<round * 3 + 5), options: options,
                now: TemporaryFeed.now)
        }
        let secrets = (10..<30).map(Sample.localSecret)
        let set = LocalSecretSet(secrets)
        let head = try feed.verifiedHead()
        var cursor = head.cursor
        var found = 0
        for planned in head.plan {
            let bytes = try feed.batchBytes(planned.name)
            var reader = BatchReader(cursor: cursor, head: head, secrets: set)
            try reader.feed(bytes.span)
            let shared = try reader.finish()
            let alone = try readBatch(bytes, cursor: cursor, head: head, secrets: secrets)
            #expect(shared.matches == alone.matches)
            found += shared.matches.count
            cursor = shared.cursor
        }
        #expect(found > 20)
    }

    private struct Found: Equatable {
        let index: Int
        let secrets: [Int]

        init(index: Int, secrets: [Int]) {
            self.index = index
            self.secrets = secrets
        }

        init(_ hit: DigestScan.Hit) {
            self.init(index: hit.index, secrets: hit.secrets)
        }
    }

    private static func range(_ round: Int) throws -> DigestRange {
        let budget = try #require(FalseMatchBudget(bits: 40 + round % 15))
        return DigestRange(count: round % 15 < 12 && round % 3 == 0 ? 3072 : 1024, budget: budget)
    }

    /// As many digests as the range has values, ascending, of which many are at its ends or near
    /// one another.
    private static func published(
        _ round: Int, _ range: DigestRange, _ generator: inout SplitMix64
    ) -> [Digest] {
        let crowd = generator.next()
        var values: [UInt64: Digest] = [:]
        while values.count < range.count {
            let near = UInt64.random(in: 0..<64, using: &generator) << 24
            let places = [near, UInt64.max - near, crowd &+ near, generator.next()]
            let high = places[round % 4 == 0 ? 3 : Int.random(in: 0..<4, using: &generator)]
            let digest = Digest(high: high, low: generator.next())
            values[range.value(of: digest)] = digest
        }
        return values.values.sorted()
    }

    /// Some of the published digests, some twice, some that differ a little, some others.
    private static func local(
        _ published: [Digest], _ generator: inout SplitMix64
    ) -> [Digest] {
        (0..<Int.random(in: 0..<60, using: &generator)).map { _ in
            let some = published.randomElement(using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: return some ?? Digest(high: 0, low: 0)
            case 1:
                let shift = UInt64.random(in: 0..<64, using: &generator)
                return Digest(high: (some?.high ?? 0) ^ 1 << shift, low: some?.low ?? 0)
            default: return Digest(high: generator.next(), low: generator.next())
            }
        }
    }

    private static func code(_ digests: [Digest], _ range: DigestRange) -> [UInt8] {
        var bytes: [UInt8] = []
        RiceCode.append(digests.map(range.value(of:)), of: range, to: &bytes)
        return bytes
    }

    private static func scan(
        _ digests: [Digest], _ matcher: Matcher, _ generator: inout SplitMix64
    ) -> DigestScan {
        scan(code(digests, matcher.range), matcher, &generator)
    }

    private static func scan(
        _ bytes: [UInt8], _ matcher: Matcher, _ generator: inout SplitMix64
    ) -> DigestScan {
        var scan = DigestScan(matcher: matcher)
        let longest = [1, 7, 40, 200, 4096].randomElement(using: &generator) ?? 1
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + Int.random(in: 1...longest, using: &generator))
            scan.scan(bytes.span.extracting(start..<end))
            start = end
        }
        return scan
    }
}
