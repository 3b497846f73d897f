import Glibc
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Downloaded files, verified without a network")
struct FeedFileSetTests {
    private typealias Fault = FeedFile.Fault

    /// A feed of three batches, and a folder to put files into.
    private struct Fixture {
        let feed: TemporaryFeed
        let batches: [[UInt8]]
        let names: [String]
        let head: [UInt8]

        init() throws {
            feed = try TemporaryFeed()
            for number in 0..<3 {
                _ = try feed.publisher().publish(
                    try Sample.input(number * 9..<number * 9 + 9, note: "x"),
                    now: TemporaryFeed.now + Int64(number) * 60)
            }
            names = try feed.batchNames()
            let feed = feed
            batches = try names.map { try feed.batchBytes($0) }
            head = try feed.headBytes()
        }

        /// What is said of files with these names and contents, in this order.
        func faults(_ files: [(String, [UInt8])]) throws -> [Fault?] {
            let folder = feed.path + "/given"
            try Files.makeDirectory(folder)
            let paths = try files.map { name, bytes in
                let path = folder + "/" + name
                try OpenFile(path, flags: O_WRONLY | O_CREAT | O_TRUNC).write(bytes.span)
                return path
            }
            return check(paths)
        }

        func check(_ paths: [String]) -> [Fault?] {
            let set = FeedArchive(paths, key: feed.publicKey)
            #expect(set.verdicts.map(\.path) == paths)
            return set.verdicts.map {
                if case .failure(let fault) = $0.result { fault } else { nil }
            }
        }

        /// What is said of one file.
        func fault(_ bytes: [UInt8], name: String = "file") throws -> Fault? {
            try faults([(name, bytes)])[0]
        }
    }

    @Test("all of a feed is right, in whatever order and under whatever names it is given")
    func right() throws {
        let fixture = try Fixture()
        let published = fixture.names.map { fixture.feed.directory + "/b/" + $0 }
        let all = [fixture.feed.directory + "/head"] + published
        #expect(fixture.check(all) == [nil, nil, nil, nil])
        #expect(fixture.check(all.reversed()) == [nil, nil, nil, nil])
        #expect(fixture.check([published[2], published[0]]) == [nil, nil])
        #expect(fixture.check(published + published).allSatisfy { $0 == nil })
        #expect(fixture.check([]) == [])
        let named = [("one", fixture.batches[2]), ("two", fixture.head), ("3", fixture.batches[1])]
        #expect(try fixture.faults(named) == [nil, nil, nil])
        let set = FeedArchive(all, key: fixture.feed.publicKey)
        guard case .success(.batch(let header, _)) = set.verdicts[2].result,
            case .success(.head(let head, _?)) = set.verdicts[0].result
        else {
            Issue.record("a head and a batch")
            return
        }
        #expect(header.sequence == 2 && header.count == 1024 && head.sequence == 3)
    }

    @Test("a batch cut at any length, or followed by more, is refused for that")
    func cut() throws {
        let fixture = try Fixture()
        let batch = fixture.batches[0]
        for length in [8, 100, 255, 256, 5000, batch.count - 1] {
            #expect(try fixture.fault(Array(batch[..<length])) == .refused(.truncated))
        }
        #expect(try fixture.fault([]) == .refused(.truncated))
        #expect(try fixture.fault(Array(batch[..<7])) == .notOfAFeed)
        #expect(try fixture.fault(batch + [0]) == .refused(.tooLarge))
        for length in [8, 47, 48, 256, fixture.head.count - 1] {
            #expect(try fixture.fault(Array(fixture.head[..<length])) == .refused(.truncated))
        }
        #expect(try fixture.fault(fixture.head + [0]) == .proof(.malformed))
        let long = [UInt8](repeating: 0, count: FeedLimits.headFileBytes)
        #expect(try fixture.fault(fixture.head + long) == .refused(.tooLarge))
    }

    @Test("whichever bit of a file is turned, the file is refused")
    func flipped() throws {
        let fixture = try Fixture()
        var generator = SplitMix64(seed: 21)
        for round in 0..<400 {
            var bytes = round % 2 == 0 ? fixture.head : fixture.batches[1]
            // Half of the batch's bits in its header.
            let end = round % 4 == 1 ? 256 : bytes.count
            let bit = Int.random(in: 0..<end * 8, using: &generator)
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            let fault = try fixture.fault(bytes)
            let isBody = round % 2 == 1 && bit / 8 >= 256
            let expected: Fault =
                isBody
                ? .refused(.corruptBatch(.payloadHash))
                : bit / 8 < 8 ? .notOfAFeed : .refused(.badSignature)
            // A head with more batches would be longer.
            let isCut = fault == .refused(.truncated) && (24..<40).contains(bit / 8)
            #expect(fault == expected || round % 2 == 0 && isCut, "bit \(bit)")
        }
    }

    @Test("what is signed but wrong is refused by its own name")
    func signedNonsense() throws {
        let fixture = try Fixture()
        let key = fixture.feed.key
        let batch = fixture.batches[0]
        let cut = Forge.payload(batch, with: key) { payload in
            // Zeros, which begin no value that the range has.
            for byte in 2000..<3000 { payload[byte] = 0 }
        }
        #expect(try fixture.fault(cut) == .refused(.corruptBatch(.code)))
        let size = Forge.batch(batch, with: key) { $0.put(littleEndian: UInt32(2048), at: 40) }
        #expect(try fixture.fault(size) == .refused(.corruptBatch(.size)))
        let large = Forge.batch(batch, with: key) { $0.put(littleEndian: UInt64.max, at: 128) }
        #expect(try fixture.fault(large) == .refused(.tooLarge))
        let foreign = Forge.batch(batch, with: key) { $0[8] ^= 1 }
        #expect(try fixture.fault(foreign) == .refused(.wrongFeed))
        let reserved = Forge.head(fixture.head, with: key) { $0[200] = 1 }
        #expect(try fixture.fault(reserved) == .refused(.malformedHead(.reservedBytes)))
        let otherFeed = Forge.head(fixture.head, with: key) { $0[8] ^= 1 }
        #expect(try fixture.fault(otherFeed) == .refused(.wrongFeed))
        let zero = Forge.batch(batch, with: key) { $0.put(littleEndian: UInt64(0), at: 24) }
        #expect(try fixture.fault(zero) == .chain(after: 0))
        let last = Forge.batch(batch, with: key) { $0.put(littleEndian: UInt64.max, at: 24) }
        #expect(try fixture.fault(last) == nil, "nothing given speaks against it")
        let stranger = SigningKey(seed: [UInt8](repeating: 7, count: 32).span)
        #expect(try fixture.fault(Forge.batch(batch, with: stranger)) == .refused(.badSignature))
    }

    @Test("a batch that another history made is told from the files beside it")
    func chain() throws {
        let fixture = try Fixture()
        let other = Forge.batch(fixture.batches[1], with: fixture.feed.key) { $0[32] ^= 64 }
        #expect(try fixture.fault(other) == nil, "alone it is right")
        #expect(
            try fixture.faults([("2", other), ("3", fixture.batches[2])])
                == [nil, .chain(after: 2)])
        #expect(
            try fixture.faults([("2", other), ("h", fixture.head)]) == [.otherThanHead(2), nil])
        #expect(
            try fixture.faults([("a", fixture.batches[1]), ("b", other)])
                == [.refused(.fork(sequence: 2)), .refused(.fork(sequence: 2))])
        let third = Forge.batch(fixture.batches[2], with: fixture.feed.key) { $0[64] ^= 1 }
        #expect(
            try fixture.faults([("3", third), ("2", fixture.batches[1])])
                == [.chain(after: 2), nil])
        let first = Forge.batch(fixture.batches[0], with: fixture.feed.key) { $0[64] = 1 }
        #expect(try fixture.fault(first) == .chain(after: 0))
    }

    @Test("the head's newest batch must have its whole hash, not only the first bytes of it")
    func wholeHash() throws {
        let fixture = try Fixture()
        let head = Forge.head(fixture.head, with: fixture.feed.key) { $0[56 + 9] ^= 1 }
        #expect(
            try fixture.faults([("h", head), ("3", fixture.batches[2])])
                == [nil, .otherThanHead(3)])
    }

    @Test("two heads that name different batches of one number are a fork; a re-signed one is not")
    func heads() throws {
        let fixture = try Fixture()
        let key = fixture.feed.key
        let again = Forge.head(fixture.head, with: key) {
            $0.put(littleEndian: UInt64(1_800_009_960), at: 40)
        }
        #expect(try fixture.faults([("a", again), ("b", fixture.head)]) == [nil, nil])
        let other = Forge.head(fixture.head, with: key) { head in
            head.put(littleEndian: UInt64(1_800_009_960), at: 40)
            head[256] ^= 1
        }
        #expect(
            try fixture.faults([("a", other), ("b", fixture.head)])
                == [.refused(.fork(sequence: 1)), nil])
    }

    @Test("a name of the published form must be the contents' own; any other says nothing")
    func names() throws {
        let fixture = try Fixture()
        #expect(try fixture.fault(fixture.batches[0], name: fixture.names[0]) == nil)
        #expect(try fixture.fault(fixture.batches[0], name: fixture.names[1]) == .misnamed)
    }

    @Test("what is no file, not there, or not to be opened is unreadable, and waits for nobody")
    func unreadable() throws {
        let fixture = try Fixture()
        let pipe = fixture.feed.path + "/pipe"
        unsafe mkfifo(pipe, 0o600)
        #expect(fixture.check([pipe]) == [.notRegular])
        #expect(fixture.check([fixture.feed.path]) == [.notRegular])
        #expect(fixture.check(["/dev/zero"]) == [.notRegular])
        guard case .unreadable(let error) = fixture.check([fixture.feed.path + "/no"])[0] else {
            Issue.record("a file that is not there")
            return
        }
        #expect(error.isMissing)
        let link = fixture.feed.path + "/link"
        unsafe symlink(fixture.feed.directory + "/head", link)
        #expect(fixture.check([link]) == [nil])
    }

    @Test("a key that took over is known from the file of keys, from its first batch on only")
    func rollover() throws {
        let fixture = try Fixture()
        let second = SigningKey(seed: [UInt8](repeating: 5, count: 32).span)
        let first = KeyChain.file(first: fixture.feed.key)
        let keys = try KeyChain(first.span)
            .file(first, adding: second, after: fixture.feed.key, from: 4)
        let newest = fixture.batches[2]
        let third = HeaderHash(ofHeader: newest.span.extracting(0..<256))
        let fourth = Forge.batch(fixture.batches[2], with: second) { header in
            header.put(littleEndian: UInt64(4), at: 24)
            header.put(third.bytes, at: 64)
        }
        let early = Forge.batch(fixture.batches[2], with: second)
        #expect(try fixture.fault(fourth) == .refused(.badSignature))
        // The file of before is no contradiction.
        #expect(
            try fixture.faults([
                ("4", fourth), ("early", early), ("k", keys), ("j", first), ("h", fixture.head),
            ]) == [nil, .refused(.badSignature), nil, nil, nil])
        let other = KeyChain.file(first: second)
        #expect(try fixture.fault(other) == .refused(.wrongFeed))
    }
}
