import TestSupport
import Testing
import WakeModel
import WakeSodium

@testable import WakeFeed

/// Searching against the plainest thing that can be right: comparing everything with everything.
@Suite("Matching, as a property")
struct MatchingPropertyTests {
    @Test("streaming finds what comparing each with each finds, however the bytes are cut")
    func oracle() {
        var generator = SplitMix64(seed: 3)
        var hits = 0
        for round in 0..<400 {
            let width = DigestWidth.allCases[round % 3]
            let published = Self.published(round, width, &generator)
            let local = Self.local(published, width, &generator)
            let expected = published.enumerated().compactMap { index, digest in
                let secrets = local.indices.filter { local[$0] == digest }
                return secrets.isEmpty ? nil : Found(index: index, secrets: secrets)
            }
            let scan = Self.scan(published, Matcher(digests: local, width: width), &generator)
            #expect(scan.isAscending && scan.count == published.count, "round \(round)")
            #expect(scan.hits.map(Found.init) == expected, "round \(round)")
            hits += expected.count
        }
        #expect(hits > 1000)
    }

    @Test("derived digests, salted and not, are found by the secrets they were derived from")
    func derived() {
        var generator = SplitMix64(seed: 4)
        for round in 0..<60 {
            let width = DigestWidth.allCases[round % 3]
            let salt =
                round % 2 == 0 ? BatchSalt([UInt8](repeating: UInt8(round + 1), count: 16)) : nil
            let published = Set((0..<Int.random(in: 0..<600, using: &generator)))
            // With repetitions: several names for one secret.
            let local = (0..<Int.random(in: 0..<200, using: &generator)).map { _ in
                Int.random(in: 0..<1200, using: &generator)
            }
            let digests = published.map {
                Digest(of: SecretBytes(Sample.secret($0)), salt: salt, width: width)
            }.sorted()
            let matcher = Matcher(
                secrets: local.map(Sample.localSecret), width: width, salt: salt)
            let scan = Self.scan(digests, matcher, &generator)
            let found = scan.hits.flatMap { $0.secrets }
            let expected = local.indices.filter { published.contains(local[$0]) }
            #expect(found.sorted() == expected, "round \(round)")
        }
    }

    @Test("one pair out of order is noticed wherever it stands and however the bytes are cut")
    func order() {
        var generator = SplitMix64(seed: 5)
        for round in 0..<300 {
            let width = DigestWidth.allCases[round % 3]
            var published = Self.published(round, width, &generator)
            guard published.count >= 2 else { continue }
            let index = Int.random(in: 0..<published.count - 1, using: &generator)
            if round % 2 == 0 {
                published.swapAt(index, index + 1)
            } else {
                published[index + 1] = published[index]
            }
            let matcher = Matcher(digests: [], width: width)
            let scan = Self.scan(published, matcher, &generator)
            #expect(!scan.isAscending && scan.hits.isEmpty, "round \(round), index \(index)")
        }
    }

    @Test("one local digest over and over, as a hostile publisher may sign it, fills no memory")
    func repeated() {
        let digest = Digest([UInt8](repeating: 7, count: 8).span, width: .short)
        var generator = SplitMix64(seed: 6)
        let scan = Self.scan(
            [Digest](repeating: digest, count: 10_000), Matcher(digests: [digest], width: .short),
            &generator)
        #expect(!scan.isAscending && scan.hits.count == 1)
    }

    @Test("a set of secrets finds the same as a new matcher for each batch")
    func shared() throws {
        let feed = try TemporaryFeed()
        var options = PublishOptions()
        for round in 0..<12 {
            options.width = DigestWidth.allCases[round % 3]
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

    /// Ascending and unique; many share their first eight bytes, or these are zero or all ones.
    private static func published(
        _ round: Int, _ width: DigestWidth, _ generator: inout SplitMix64
    ) -> [Digest] {
        let count = [0, 1, 2, Int.random(in: 3..<300, using: &generator)][round % 4]
        let crowd = UInt64.random(in: 0...UInt64.max, using: &generator)
        let digests = (0..<count).map { _ in
            let first =
                [0, .max, crowd, UInt64.random(in: 0...UInt64.max, using: &generator)]
                .randomElement(using: &generator) ?? 0
            return digest(first, width, &generator)
        }
        return Set(digests).sorted()
    }

    /// Some of the published digests, some twice, some that differ after eight bytes, some others.
    private static func local(
        _ published: [Digest], _ width: DigestWidth, _ generator: inout SplitMix64
    ) -> [Digest] {
        (0..<Int.random(in: 0..<60, using: &generator)).map { _ in
            let some = published.randomElement(using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: return some ?? digest(0, width, &generator)
            case 1: return digest(some?.prefix ?? 0, width, &generator)
            default:
                let prefix = UInt64.random(in: 0...UInt64.max, using: &generator)
                return digest(prefix, width, &generator)
            }
        }
    }

    /// - Parameter first: its first eight bytes; the rest is one of a few values.
    private static func digest(
        _ first: UInt64, _ width: DigestWidth, _ generator: inout SplitMix64
    ) -> Digest {
        let rest = (0..<3).map { _ in UInt64.random(in: 0..<4, using: &generator) }
        return Digest(
            prefix: first, second: width == .short ? 0 : rest[0],
            third: width == .long ? rest[1] : 0, fourth: width == .long ? rest[2] : 0)
    }

    private static func scan(
        _ digests: [Digest], _ matcher: Matcher, _ generator: inout SplitMix64
    ) -> DigestScan {
        var bytes: [UInt8] = []
        for digest in digests { digest.append(to: &bytes, width: matcher.width) }
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
