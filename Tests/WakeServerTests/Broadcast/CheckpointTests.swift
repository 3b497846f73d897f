import Foundation
import Glibc
import TestSupport
import Testing
import WakeModel
import WakeSodium
import WakeSystem

@testable import WakeServer

@Suite("The checkpoint of a run")
struct CheckpointTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/checkpoint" }
    private let header = Checkpoint.Header(
        run: 12, sequence: 1842, reasons: [.heartbeat, .asked], generation: 3)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func resumed() throws -> Checkpoint { try #require(try Checkpoint.open(path)) }

    private func fault() -> Checkpoint.Unusable? {
        do throws(Checkpoint.Unusable) {
            _ = try Checkpoint.open(path)
            return nil
        } catch {
            return error
        }
    }

    @Test("what was marked and counted is there after the process is gone")
    func resume() throws {
        var checkpoint = try Checkpoint.create(path, header)
        let runs = [
            BucketRange(.previous, first: 1_048_575, last: 1_048_575),
            BucketRange(.previous, first: 13, last: 60),
        ]
        for run in runs { try checkpoint.markDone(run) }
        var counters = RunCounters()
        counters.rows = 7
        counters.milliseconds = 1 << 53
        counters.tripped = 5
        try checkpoint.save(counters)

        let again = try resumed()
        #expect(again.header == header)
        #expect(again.counters == counters)
        #expect(again.done == checkpoint.done)
        for bucket in 0..<UInt32(1_048_576) {
            let isDone = bucket == 1_048_575 || (13...60).contains(bucket)
            #expect(again.done.previous.contains(bucket) == isDone)
            #expect(!again.done.current.contains(bucket))
        }
        #expect(again.done.previous.count == 49)
    }

    @Test("any marks read back as made, through any number of openings")
    func roundTrip() throws {
        var random = SplitMix64(seed: 3)
        var checkpoint = try Checkpoint.create(path, header)
        for _ in 0..<20 {
            for _ in 0..<50 {
                let first = UInt32.random(in: 0..<1_048_576, using: &random)
                let last = UInt32.random(
                    in: first...min(1_048_575, first + 5000), using: &random)
                try checkpoint.markDone(BucketRange(.previous, first: first, last: last))
            }
            let again = try resumed()
            #expect(again.done == checkpoint.done)
            checkpoint = again
        }
        for chunk in 0..<UInt32(64) {
            let run = BucketRange(.previous, first: chunk * 16_384, last: chunk * 16_384 + 16_383)
            try checkpoint.markDone(run)
        }
        try checkpoint.markDone(BucketRange(.current, first: 0, last: 1_048_575))
        checkpoint.flush()
        let walked = try resumed()
        #expect(walked.done.progress(previousRows: 1, currentRows: 1) == 1)
    }

    @Test("marks made together are written as those made one by one")
    func together() throws {
        var random = SplitMix64(seed: 11)
        var one = try Checkpoint.create(path, header)
        let otherPath = directory.path + "/other"
        var many = try Checkpoint.create(otherPath, header)
        for round in 0..<40 {
            var ranges: [CompletionTracker.Completed] = (0..<60).map { _ in
                let generation = Generation.allCases[Int.random(in: 0...1, using: &random)]
                // Near each other, so that some are written with what lies between.
                let first = UInt32.random(in: 0..<40_000, using: &random)
                let last = first + UInt32.random(in: 0..<30, using: &random)
                return (
                    BucketRange(generation, first: first, last: last),
                    ServiceSet(rawValue: UInt8.random(in: 0...255, using: &random))
                )
            }
            if round == 20 {
                // From here on marks of current are written for one push service.
                let all = BucketRange(.previous, first: 0, last: 1_048_575)
                ranges.append((all, ServiceSet(.fcm)))
            }
            ranges.sort { $0.range.first < $1.range.first }
            for (range, services) in ranges { try one.markDone(range, for: services) }
            try many.markDone(ranges)
            #expect(try Files.read(path, limit: 1 << 22) == Files.read(otherPath, limit: 1 << 22))
        }
        #expect(one.done == many.done)
    }

    @Test("the bytes are those of the table")
    func layout() throws {
        var checkpoint = try Checkpoint.create(path, header)
        try checkpoint.markDone(BucketRange(.previous, first: 9, last: 9))
        let bytes = try Files.read(path, limit: 1 << 22)
        #expect(bytes.count == 2_101_248)
        #expect(String(decoding: bytes[..<8], as: UTF8.self) == "RVLCHECK")
        #expect(bytes[8...9] == [2, 3])
        #expect(bytes[16..<24] == [12, 0, 0, 0, 0, 0, 0, 0])
        #expect(bytes[24..<32] == [0x32, 7, 0, 0, 0, 0, 0, 0])
        #expect(bytes[32..<40] == [3, 0, 0, 0, 0, 0, 0, 0])
        let checksum = Blake2b.hash(bytes.span.extracting(0..<40))
        #expect(Array(bytes[40..<72]) == checksum)
        #expect(bytes[72..<4096].allSatisfy { $0 == 0 })
        #expect(bytes[4096..<4105].allSatisfy { $0 == 0 } && bytes[4105] == 0xFF)
        #expect(bytes[4106...].allSatisfy { $0 == 0 })
        let fcm = BucketRange(.previous, first: 2, last: 2)
        try checkpoint.markDone(fcm, for: ServiceSet(.fcm))
        #expect(try Files.read(path, limit: 1 << 22)[4098] == 4)
        #expect(try FileStatus(of: path).isPrivate)
    }

    @Test("no file is no run; a removed file is no file")
    func missing() throws {
        #expect(try Checkpoint.open(path)?.header == nil)
        _ = try Checkpoint.create(path, header)
        _ = try resumed()
        try Checkpoint.remove(path)
        #expect(try Checkpoint.open(path)?.header == nil)
        try Checkpoint.remove(path)
    }

    @Test(
        "runs of 0xFF and of zeros anywhere, as flash leaves them: refused, or gone on with"
    )
    func erased() throws {
        let good = try {
            _ = try Checkpoint.create(path, header)
            return try Files.read(path, limit: 1 << 22)
        }()
        var random = SplitMix64(seed: 17)
        let places = [
            128..<240, 128..<136, 232..<240, 136..<4096, 4096..<8192, 4096..<2_101_248, 9..<10,
        ]
        for trial in 0..<60 {
            var place = places[trial % places.count]
            if trial >= 2 * places.count {
                let start = Int.random(in: 0..<good.count, using: &random)
                place = start..<min(good.count, start + 1 << Int.random(in: 0...16, using: &random))
            }
            var bytes = good
            for index in place { bytes[index] = trial.isMultiple(of: 2) ? 0xFF : 0 }
            try Files.replace(path, with: bytes.span)
            guard var checkpoint = (try? Checkpoint.open(path)) ?? nil else { continue }
            var counters = checkpoint.counters
            counters.read(isAgain: false)
            counters.add(checkpoint.counters)
            counters = counters.saved(inFlight: 1000)
            counters.end(isWhole: trial.isMultiple(of: 3), inFlight: 1000)
            try checkpoint.save(counters)
            try checkpoint.markDone(BucketRange(.previous, first: 7, last: 9))
            let progress = checkpoint.done.progress(previousRows: 0, currentRows: 1)
            #expect((0...1).contains(progress))
            var order = ScanOrder(start: 5, blocks: 64, using: &random)
            _ = order.next(notIn: checkpoint.done)
            #expect(try Checkpoint.open(path)?.counters == counters)
        }
    }

    @Test(
        "a file of any other length, foreign or changed in its header is no checkpoint, and says so"
    )
    func hostile() throws {
        let good = try {
            _ = try Checkpoint.create(path, header)
            return try Files.read(path, limit: 1 << 22)
        }()
        func put(_ bytes: [UInt8]) throws { try Files.replace(path, with: bytes.span) }
        for count in [0, 1, 8, 127, 128, 256, 4096, 1_052_672, 2_101_247] {
            try put(Array(good[..<count]))
            #expect(fault() == (count < 8 ? .foreign : .damaged), "\(count) bytes")
        }
        try put(good + [0])
        #expect(fault() == .damaged)
        try put(good)
        let file = try OpenFile(path, flags: O_RDWR)
        for offset in 0..<128 {
            for bit in [0, 7] {
                try file.write([good[offset] ^ 1 << bit].span, at: offset)
                #expect(
                    fault() == (offset < 8 ? .foreign : offset == 8 ? .otherVersion : .damaged))
            }
            try file.write([good[offset]].span, at: offset)
        }
        var bytes = good
        bytes[300] = 1
        try put(bytes)
        #expect(fault() == .damaged)
        try put([UInt8](repeating: 0x41, count: 2_101_248))
        #expect(fault() == .foreign)
        try put(good)
        _ = try resumed()
    }

    @Test("a directory or a link in the file's place is an error, not a checkpoint")
    func places() throws {
        try Files.makeDirectory(path)
        #expect(throws: Checkpoint.Unusable.self) { try Checkpoint.open(path) }
        let link = directory.path + "/link"
        let target = directory.path + "/target"
        _ = try Checkpoint.create(target, header)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(throws: Checkpoint.Unusable.self) { try Checkpoint.open(link) }
    }
}
