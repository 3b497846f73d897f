import Foundation
import TestSupport
import Testing
import WakeFiles
import WakeModel
import WakePush

@testable import WakeServer

@Suite("The record of a round")
struct RoundRecordTests {
    private static let boot = (0..<16).map { UInt8($0) }

    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/round" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func header(seed: UInt64 = 7) -> RoundHeader {
        var random = SeededGenerator(seed)
        return RoundHeader(
            round: 12, sequence: 1842, reasons: [.heartbeat, .asked], generation: 3,
            started: ClockReading(wall: 1_800_000_000, uptime: 5000, boot: Self.boot),
            using: &random)
    }

    private func resumed() throws -> RoundRecord {
        guard case .round(let record) = try RoundRecord.open(path) else {
            throw TestFailure("no round to resume")
        }
        return record
    }

    private func why() throws -> RoundRecord.Unusable? {
        guard case .unusable(let why) = try RoundRecord.open(path) else { return nil }
        return why
    }

    @Test("what was marked and counted is there after the process is gone")
    func resume() throws {
        var record = try RoundRecord.create(path, header())
        let runs = [
            BucketRun(.previous, first: 1_048_575, last: 1_048_575),
            BucketRun(.previous, first: 13, last: 60),
        ]
        for run in runs { try record.markDone(run) }
        var counters = RoundCounters()
        counters.rows = 7
        counters.milliseconds = .max
        counters.braked = 5
        try record.keep(counters)

        let again = try resumed()
        #expect(again.header == header())
        #expect(again.counters == counters)
        #expect(again.done == record.done)
        for bucket in 0..<UInt32(1_048_576) {
            let isDone = bucket == 1_048_575 || (13...60).contains(bucket)
            #expect(again.isDone(.previous, bucket) == isDone)
            #expect(!again.isDone(.current, bucket))
        }
        #expect(again.done.previous.count == 49)
    }

    @Test("any marks read back as made, through any number of openings")
    func roundTrip() throws {
        var random = SeededGenerator(3)
        var record = try RoundRecord.create(path, header())
        for _ in 0..<20 {
            for _ in 0..<50 {
                let first = UInt32.random(in: 0..<1_048_576, using: &random)
                let last = UInt32.random(
                    in: first...min(1_048_575, first + 5000), using: &random)
                try record.markDone(BucketRun(.previous, first: first, last: last))
            }
            let again = try resumed()
            #expect(again.done == record.done)
            record = again
        }
        for chunk in 0..<UInt32(64) {
            let run = BucketRun(.previous, first: chunk * 16_384, last: chunk * 16_384 + 16_383)
            try record.markDone(run)
        }
        try record.markDone(BucketRun(.current, first: 0, last: 1_048_575))
        try record.sync()
        let walked = try resumed()
        #expect(walked.done.progress(previousRows: 1, currentRows: 1) == 1)
    }

    @Test("the bytes are those of the table")
    func layout() throws {
        var record = try RoundRecord.create(path, header())
        try record.markDone(BucketRun(.previous, first: 9, last: 9))
        let bytes = try Files.read(path, limit: 1 << 20)
        #expect(bytes.count == 266_240)
        #expect(String(decoding: bytes[..<8], as: UTF8.self) == "RVLROUND")
        #expect(bytes[8...9] == [1, 3])
        #expect(bytes[16..<24] == [12, 0, 0, 0, 0, 0, 0, 0])
        #expect(bytes[24..<32] == [0x32, 7, 0, 0, 0, 0, 0, 0])
        #expect(bytes[32..<40] == [3, 0, 0, 0, 0, 0, 0, 0])
        #expect(bytes[40..<48] == [0x88, 0x13, 0, 0, 0, 0, 0, 0])
        #expect(Array(bytes[56..<72]) == Self.boot)
        #expect(bytes[4096] == 0 && bytes[4097] == 2)
        #expect(bytes[4098...].allSatisfy { $0 == 0 })
        #expect(try FileStatus(of: path).isPrivate)
    }

    @Test("no file is no round; a file removed is no file")
    func missing() throws {
        guard case .none = try RoundRecord.open(path) else {
            Issue.record("something to resume")
            return
        }
        _ = try RoundRecord.create(path, header())
        _ = try resumed()
        try RoundRecord.remove(path)
        guard case .none = try RoundRecord.open(path) else {
            Issue.record("something to resume")
            return
        }
        try RoundRecord.remove(path)
    }

    @Test("a file of any other length, foreign or changed in its header is no round, and says so")
    func hostile() throws {
        let good = try {
            _ = try RoundRecord.create(path, header())
            return try Files.read(path, limit: 1 << 20)
        }()
        func put(_ bytes: [UInt8]) throws { try Files.replace(path, with: bytes.span) }
        for count in [0, 1, 8, 127, 128, 256, 4096, 135_168, 266_239] {
            try put(Array(good[..<count]))
            #expect(try why() == .damaged, "\(count) bytes")
        }
        try put(good + [0])
        #expect(try why() == .damaged)
        for offset in 0..<128 {
            for bit in [0, 7] {
                var bytes = good
                bytes[offset] ^= 1 << bit
                try put(bytes)
                #expect(
                    try why() == (offset < 8 ? .foreign : offset == 8 ? .otherVersion : .damaged))
            }
        }
        var bytes = good
        bytes[300] = 1
        try put(bytes)
        #expect(try why() == .damaged)
        try put([UInt8](repeating: 0x41, count: 266_240))
        #expect(try why() == .foreign)
        try put(good)
        _ = try resumed()
    }

    @Test("a directory or a link in the file's place is an error, not a round")
    func places() throws {
        try Files.makeDirectory(path)
        #expect(throws: FileError.self) { try RoundRecord.open(path) }
        let link = directory.path + "/link"
        let target = directory.path + "/target"
        _ = try RoundRecord.create(target, header())
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(throws: FileError.self) { try RoundRecord.open(link) }
    }

    @Test("two rounds begin elsewhere and can be told apart")
    func random() {
        let headers = (0..<100 as Range<UInt64>).map { header(seed: $0) }
        #expect(Set(headers.map(\.startBucket)).count > 95)
        #expect(Set(headers.map(\.salt)).count == 100)
    }
}
