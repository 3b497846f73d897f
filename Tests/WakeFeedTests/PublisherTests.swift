import Glibc
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Publisher")
struct PublisherTests {
    private let now = TemporaryFeed.now

    private func error(_ body: () throws(FeedDirectoryError) -> Void) -> FeedDirectoryError? {
        failure(body)
    }

    @Test("what is published verifies, padded to a multiple of 1024, and is found")
    func publishes() throws {
        let feed = try TemporaryFeed()
        for (index, count) in [1, 1023, 1024, 1025].enumerated() {
            let outcome = try feed.publisher().publish(
                try Sample.input(index * 2000..<index * 2000 + count), now: now)
            let sequence = UInt64(index + 1)
            #expect(outcome == .published(sequence...sequence))
            let report = try feed.verify(
                secrets: (index * 2000..<index * 2000 + count).map(Sample.localSecret))
            #expect(report.matches.count == count)
            #expect(report.head.sequence == sequence && report.batches == index + 1)
        }
        #expect(try feed.verify().digests == 3 * 1024 + 2048)
    }

    @Test("ready digests are published unsalted as they are")
    func digests() throws {
        let feed = try TemporaryFeed()
        let secret = SecretBytes(Sample.secret(1))
        var bytes: [UInt8] = []
        Digest(of: secret, salt: nil).append(to: &bytes)
        let input = try FeedInput(digestsFrom: Hex.encode(bytes.span))
        _ = try feed.publisher().publish(input, now: now)
        let report = try feed.verify(secrets: [Sample.localSecret(1)])
        #expect(report.matches.count == 1)
        let least = 256 + 1024 * 49 / 8
        #expect(report.bytes >= least && report.bytes <= least + 128)
    }

    @Test("the same input is published once; asked for again it is; another note is another input")
    func idempotent() throws {
        let feed = try TemporaryFeed()
        let publisher = feed.publisher()
        #expect(try publisher.publish(try Sample.input(0..<9), now: now) == .published(1...1))
        // Neither order nor repetition makes another input of it.
        let shuffled = try Sample.input([8, 3, 1, 0, 2, 7, 3, 6, 5, 4, 4])
        #expect(try publisher.publish(shuffled, now: now) == .alreadyPublished(1...1))
        #expect(
            try publisher.publish(shuffled, options: PublishOptions(again: true), now: now)
                == .published(2...2))
        #expect(try publisher.publish(shuffled, now: now) == .alreadyPublished(2...2))
        #expect(
            try publisher.publish(try Sample.input(0..<9, note: "n"), now: now)
                == .published(3...3))
        let budget = try #require(FalseMatchBudget(bits: 50))
        #expect(
            try publisher.publish(
                try Sample.input(0..<9), options: PublishOptions(budget: budget), now: now)
                == .published(4...4))
        #expect(try publisher.publish(try Sample.input(0..<8), now: now) == .published(5...5))
        #expect(try feed.verify().head.sequence == 5)
        let journal = try FileStatus(of: feed.directory + "/.journal")
        #expect(journal.mode == 0o600)
    }

    @Test("a large input becomes several batches under one head, each of them evenly spread")
    func splits() throws {
        let feed = try TemporaryFeed()
        let options = PublishOptions(batchDigests: 2048)
        // Digests, which the input keeps in ascending order.
        var bytes: [UInt8] = []
        for number in 0..<5000 {
            let secret = SecretBytes(Sample.secret(number))
            Digest(of: secret, salt: nil).append(to: &bytes)
        }
        let input = try FeedInput(digestsFrom: bytes, encoding: .raw(record: 16))
        let outcome = try feed.publisher().publish(input, options: options, now: now)
        #expect(outcome == .published(1...3))
        let report = try feed.verify(secrets: (0..<5000).map(Sample.localSecret))
        #expect(report.matches.count == 5000 && report.digests == 2048 + 2048 + 1024)
        let head = try feed.verifiedHead()
        for planned in head.plan {
            let bytes = try feed.batchBytes(planned.name)
            let range = try BatchHeader(signed: bytes.span.extracting(0..<256)).range
            let count = range.count
            let low = Sample.values(bytes).count { $0 < range.last / 2 }
            #expect(abs(low - count / 2) < count / 8, "\(low) of \(count)")
        }
        #expect(
            try feed.publisher().publish(input, options: options, now: now)
                == .alreadyPublished(1...3))
    }

    @Test("a preview says what a publish then does, and changes nothing")
    func preview() throws {
        let feed = try TemporaryFeed()
        let options = PublishOptions(noteBytes: 64, batchDigests: 2048)
        let input = try Sample.input(0..<2500)
        let before = try feed.headBytes()
        let preview = try feed.publisher().preview(input, options: options)
        #expect(preview.outcome == .published(1...2))
        #expect(preview.items == 2500 && preview.decoys == 3072 - 2500)
        #expect(try feed.headBytes() == before && feed.batchNames().isEmpty)
        let outcome = try feed.publisher().publish(input, options: options, now: now)
        #expect(outcome == preview.outcome)
        // The code of the digests takes what it takes; notes and headers are of fixed size.
        let code = 3072 * 50 / 8
        #expect((preview.bytes - code / 50...preview.bytes).contains(try feed.verify().bytes))
        #expect(
            try feed.publisher().preview(input, options: options).outcome
                == .alreadyPublished(1...2))
    }

    @Test("a cover batch looks like any other and holds nothing")
    func cover() throws {
        let feed = try TemporaryFeed()
        let options = PublishOptions(noteBytes: 64)
        _ = try feed.publisher().publish(try Sample.input([1]), options: options, now: now)
        #expect(try feed.publisher().publishCover(now: now) == 2)
        let head = try feed.verifiedHead()
        let headers = try head.plan.map { planned in
            let bytes = try feed.batchBytes(planned.name)
            return try BatchHeader(signed: bytes.span.extracting(0..<256))
        }
        #expect(headers[0].range == headers[1].range)
        #expect(headers[0].noteBytes == headers[1].noteBytes)
        #expect(headers[0].kind == headers[1].kind && headers[1].salt != nil)
        #expect(try feed.verify(secrets: [Sample.localSecret(1)]).matches.count == 1)
    }

    @Test("signing again keeps sequence and batches, and moves issued and expires")
    func resign() throws {
        let feed = try TemporaryFeed()
        _ = try feed.publisher().publish(try Sample.input([1]), now: now)
        let before = try feed.verify().head
        try feed.publisher().resign(now: now + 86_400)
        let after = try feed.verify().head
        #expect(after.sequence == 1 && after.headerHash == before.headerHash)
        #expect(after.issued == before.issued + 86_400)
        #expect(after.expires == before.expires + 86_400)
        #expect(after.issued % 60 == 0)
        // A clock that went back does not make a head that clients take for an old one.
        try feed.publisher().resign(now: now)
        #expect(try feed.verify().head.issued == after.issued)
        // Another order is newer even then: whoever holds the old head cannot bring it back.
        try feed.publisher().resign(settings: FeedSettings(flags: .retired), now: now)
        #expect(try feed.verify().head.issued == after.issued + 60)
        #expect(try feed.verify().head.settings.flags == .retired)
        try feed.publisher().resign(lifetimeSeconds: 60, now: now + 86_400)
        #expect(try feed.verify().head.expires == after.issued + 120)
    }

    @Test("a pause ends when it was to end, however often the head is signed meanwhile")
    func pause() throws {
        let feed = try TemporaryFeed()
        let paused = FeedSettings(flags: [.paused, .noRegistration], pauseSeconds: 7200)
        try feed.publisher().resign(settings: paused, now: now)
        let end = try #require(try feed.verify().head.pausedUntil)
        for seconds in [60, 3600, 3601, 7100] as [Int64] {
            try feed.publisher().resign(now: now + seconds)
            let head = try feed.verify().head
            #expect(head.pausedUntil == end && head.settings.flags == paused.flags)
            #expect(Int64(head.settings.pauseSeconds) == end - head.issued)
        }
        _ = try feed.publisher().publish(try Sample.input([1]), now: end)
        let after = try feed.verify(now: end).head
        #expect(after.pausedUntil == nil && after.settings.flags == .noRegistration)
        #expect(after.settings.pauseSeconds == 0)
        // No head stretches one beyond what clients take, or beyond what a time can be.
        let endless = FeedSettings(flags: .paused, pauseSeconds: .max)
        #expect(endless.pausedUntil(issued: 0) == FeedLimits.longestPause)
        #expect(endless.pausedUntil(issued: .max) == .max)
    }

    @Test("at most 448 batches and none older than 14 days are named")
    func retention() throws {
        let feed = try TemporaryFeed()
        let options = PublishOptions(batchDigests: 1024)
        let bytes = Sodium.random((448 * 1024 + 1) * 16)
        func input(_ count: Int) throws -> FeedInput {
            let part = Array(bytes[..<(count * 16)])
            return try FeedInput(digestsFrom: part, encoding: .raw(record: 16))
        }
        let most = try input(447 * 1024)
        #expect(try feed.publisher().publish(most, options: options, now: now).sequence == 447)
        for _ in 0..<3 { try feed.publisher().publishCover(now: now + 60) }
        var head = try feed.verifiedHead().head
        #expect(head.count == 448 && head.firstSequence == 3 && head.sequence == 450)
        let tooMuch = try input(448 * 1024 + 1)
        #expect(
            error { () throws(FeedDirectoryError) in
                _ = try feed.publisher().publish(tooMuch, options: options, now: now)
            } == .tooManyBatches(449))
        try feed.publisher().resign(now: now + 14 * TemporaryFeed.day)
        #expect(try feed.verifiedHead().head.count == 448)
        try feed.publisher().resign(now: now + 14 * TemporaryFeed.day + 60)
        head = try feed.verify().head
        #expect(head.count == 3 && head.firstSequence == 448)
        #expect(Int(head.retainedBytes) == (try feed.verify().bytes))
    }

    @Test("prune removes what nobody names after an hour, and nothing else")
    func prune() throws {
        let feed = try TemporaryFeed()
        let publisher = feed.publisher()
        _ = try publisher.publish(try Sample.input([1]), now: now)
        let orphan = "b/00000000000000000002-0123456789abcdef"
        let foreign = "b/README"
        for name in [orphan, orphan + ".tmp", "head.tmp", foreign] {
            try Files.create(feed.directory + "/" + name, with: [UInt8(1)].span)
        }
        let written = Int64(try FileStatus(of: feed.directory + "/" + orphan).modified)
        #expect(try publisher.prune(now: written + 3599) == 0)
        // Beside partial tiles of the log, which longer ones replace.
        #expect(try publisher.prune(now: written + 3660) >= 3)
        for name in [orphan, orphan + ".tmp", "head.tmp"] {
            #expect(!Files.exists(feed.directory + "/" + name))
        }
        #expect(Files.exists(feed.directory + "/" + foreign))
        #expect(try feed.verify().batches == 1)
    }

    @Test("a publisher with another key, or none of a feed, changes nothing")
    func refuses() throws {
        let feed = try TemporaryFeed()
        let before = try feed.headBytes()
        let input = try Sample.input([1])
        let stranger = FeedPublisher(
            directory: feed.directory, key: SigningKey(seed: Sample.secret(1).span))
        #expect(
            error { () throws(FeedDirectoryError) in _ = try stranger.publish(input, now: now) }
                == .keys(.wrongFeed))
        let nowhere = FeedPublisher(directory: feed.path, key: feed.key)
        #expect(
            error { () throws(FeedDirectoryError) in _ = try nowhere.publish(input, now: now) }
                == .noFeed)
        #expect(
            error { () throws(FeedDirectoryError) in
                try FeedDirectory.create(feed.directory, key: feed.key, now: now)
            } == .exists)
        let long = try Sample.input([1], note: String(repeating: "x", count: 215))
        #expect(
            error { () throws(FeedDirectoryError) in
                _ = try feed.publisher().publish(long, now: now)
            } == .noteTooLong(line: 1, limit: 214))
        for options in [
            PublishOptions(noteBytes: 41), PublishOptions(noteBytes: 5000),
            PublishOptions(batchDigests: 1023), PublishOptions(minimumDigests: 1500),
            PublishOptions(batchDigests: 1024, minimumDigests: 2048),
        ] {
            #expect(
                error { () throws(FeedDirectoryError) in
                    _ = try feed.publisher().publish(input, options: options, now: now)
                } == .options)
        }
        #expect(try feed.headBytes() == before && feed.batchNames().isEmpty)
    }

    @Test("verify names the batch that is missing or damaged")
    func damaged() throws {
        let feed = try TemporaryFeed()
        for number in 0..<3 {
            _ = try feed.publisher().publish(try Sample.input([number]), now: now)
        }
        let path = feed.directory + "/b/" + (try feed.batchNames()[1])
        var bytes = try Files.read(path, limit: 1 << 20)
        bytes[5000] ^= 1
        try Files.replace(path, with: bytes.span)
        func verify() -> FeedDirectoryError? {
            error { () throws(FeedDirectoryError) in
                let directory = FeedDirectory(feed.directory)
                _ = try directory.verify(feed.publicKey, now: now)
            }
        }
        #expect(verify() == .batch(2, .corruptBatch(.payloadHash)))
        try Files.remove(path)
        #expect(verify() == .missingBatch(2))
        let input = try Sample.input([9])
        #expect(
            error { () throws(FeedDirectoryError) in
                _ = try feed.publisher().publish(input, now: now)
            } == .missingBatch(2))
    }
}
