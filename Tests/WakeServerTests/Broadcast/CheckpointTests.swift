import Foundation
import Glibc
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeServer

@Suite("The checkpoint of a run")
struct CheckpointTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/checkpoint" }
    private let header = Checkpoint.Header(
        run: 12, sequence: 1842, reasons: [.heartbeat, .asked], generation: 3, seed: 0x1234,
        blockBits: 9)

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

    private func position(_ accepted: UInt64) -> RunPosition {
        var position = RunPosition()
        position.next = 0x1_2345_6000
        position.noted = [0x1_0000_5000, 0x7000]
        position.counters.accepted = accepted
        position.counters.milliseconds = 1 << 53
        return position
    }

    private func writer(_ checkpoint: Checkpoint, _ service: PushService = .fcm) -> PositionWriter {
        PositionWriter(checkpoint, service, log: Log(level: .error))
    }

    @Test("what was saved is there after the process is gone, of each gateway its own")
    func resume() throws {
        let checkpoint = try Checkpoint.create(path, header)
        var (fcm, apns) = (writer(checkpoint), writer(checkpoint, .apns))
        for number in 0..<9 as Range<UInt64> {
            let pending: [UInt64] = [0x3456, 0x1_0000_0001, 0x1_0000_0FFF]
            fcm.save(position(number).numbers(at: 0x1_2345_6789, pending: pending))
            apns.save(position(number + 100).numbers(at: 0x1000, pending: []))
            let again = try resumed()
            #expect(again.header == header && Set(again.positions.keys) == [.fcm, .apns])
            let position = try #require(again.positions[.fcm])
            #expect(position.counters == self.position(number).counters)
            // A place of the previous generation is read again: current is read after it.
            #expect(position.next == ScanOrder.currentStart && position.counted == 0x1_2345_6000)
            #expect(position.again == [0x3000..<0x4000, 0x1_0000_0000..<0x1_0000_1000])
            #expect(position.noted == [0x7000, 0x1_0000_5000])
            let other = try #require(again.positions[.apns])
            #expect(other.next == 0x1000 && other.counters.accepted == number + 100)
        }
    }

    @Test("a list that is too long is coarser, and never leaves anything out")
    func longLists() throws {
        var random = SplitMix64(seed: 3)
        for count in [16_383, 16_384, 100_000] {
            let places = (0..<count).map { _ in UInt64.random(in: 0..<ScanOrder.end, using: &random)
            }
            var position = RunPosition()
            position.noted = places
            let noted = try #require(
                RunPosition(position.numbers(at: ScanOrder.end, pending: [])))
            let buckets = Set(noted.noted.map { $0 >> RunPosition.bucketBits })
            #expect(places.allSatisfy { buckets.contains($0 >> RunPosition.bucketBits) })
            let pending = try #require(
                RunPosition(RunPosition().numbers(at: ScanOrder.end, pending: places.sorted())))
            let isLeft = places.allSatisfy { place in
                place >= pending.next || pending.again.contains { $0.contains(place) }
            }
            #expect(isLeft)
        }
    }

    @Test(
        "a copy that a kill cut short is not believed: the one before it is", arguments: [8, 3000])
    func torn(_ count: Int) throws {
        let checkpoint = try Checkpoint.create(path, header)
        var writer = writer(checkpoint)
        // The first copy is flushed, the others lie in turn in the two that are not.
        for number in 0..<3 as Range<UInt64> {
            let pending = (0..<count).map { UInt64($0) << 12 }
            writer.save(position(number).numbers(at: 1 << 32, pending: pending))
        }
        let good = try Files.read(path, limit: 1 << 22)
        var kills = 0
        let offsets = stride(from: 4096, to: good.count, by: 8).filter { good[$0] != 0 }
        for offset in offsets.prefix(30) + offsets.suffix(30) {
            var bytes = good
            bytes[offset] ^= 1
            try Files.replace(path, with: bytes.span)
            let accepted = try resumed().positions[.fcm]?.counters.accepted
            #expect(accepted == 2 || accepted == 1)
            if accepted == 1 { kills += 1 }
        }
        #expect(kills > 3)
    }

    @Test("the bytes are those of the table")
    func layout() throws {
        let checkpoint = try Checkpoint.create(path, header)
        var writer = writer(checkpoint)
        writer.save(RunPosition().numbers(at: 0x2000, pending: [0x1000]))
        let bytes = try Files.read(path, limit: 1 << 22)
        #expect(bytes.count == 2_105_344)
        #expect(String(decoding: bytes[..<8], as: UTF8.self) == "RVLCHECK")
        #expect(bytes[8...10] == [3, 3, 9])
        #expect(bytes[16..<24] == [12, 0, 0, 0, 0, 0, 0, 0])
        #expect(bytes[24..<32] == [0x32, 7, 0, 0, 0, 0, 0, 0])
        #expect(bytes[32..<40] == [3, 0, 0, 0, 0, 0, 0, 0])
        #expect(bytes[40..<48] == [0x34, 0x12, 0, 0, 0, 0, 0, 0])
        let checksum = Blake2b.hash(bytes.span.extracting(0..<48))
        #expect(Array(bytes[48..<80]) == checksum)
        // FCM is the third push service; the first copy is flushed: the fourth of four.
        let place = 4096 + 256 * (4 * 2 + 3)
        #expect(bytes[place] == 1 && bytes[place + 16] == 2 && bytes[place + 24] == 2)
        #expect(bytes[place + 32] == 1 && bytes[place + 40] == 0)
        let list = 8192 + 131_072 * (4 * 2 + 3)
        #expect(bytes[list] == 1)
        let rest = bytes.indices.filter { $0 >= 80 && bytes[$0] != 0 }
        #expect(rest.allSatisfy { (place..<place + 256).contains($0) || $0 == list })
        #expect(try FileStatus(of: path).isPrivate)
    }

    @Test("a file that cannot be written to does not keep the run from its end")
    func unwritable() throws {
        let checkpoint = try Checkpoint.create(path, header)
        var writer = writer(checkpoint)
        // Every write to the descriptor of the checkpoint fails from now on, as on a full disk.
        let full = unsafe open("/dev/full", O_RDWR | O_CLOEXEC)
        defer { close(full) }
        for descriptor in 3..<Int32(1024) where Self.target(of: descriptor) == path {
            #expect(dup2(full, descriptor) == descriptor)
        }
        for number in 0..<9 as Range<UInt64> {
            writer.save(position(number).numbers(at: 0, pending: []))
        }
        #expect(try resumed().positions.isEmpty)
    }

    private static func target(of descriptor: Int32) -> String? {
        var path = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/fd/\(descriptor)", &path, path.count - 1)
        guard count > 0 else { return nil }
        return String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
            var writer = writer(try Checkpoint.create(path, header))
            for number in 0..<5 as Range<UInt64> {
                writer.save(position(number).numbers(at: 1 << 32, pending: [5, 7 << 20]))
            }
            return try Files.read(path, limit: 1 << 22)
        }()
        var random = SplitMix64(seed: 17)
        let places = [
            4096..<8192, 6144..<7168, 6144..<6400, 136..<4096, 8192..<12_288, 4096..<2_105_344,
            9..<10,
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
            guard let checkpoint = (try? Checkpoint.open(path)) ?? nil else { continue }
            let position = checkpoint.positions[.fcm] ?? RunPosition()
            #expect((0...1).contains(position.progress(previous: 0.5, pending: 1000)))
            var writer = writer(checkpoint)
            writer.save(position.numbers(at: position.next, pending: []))
            #expect(try resumed().positions[.fcm]?.counters == position.counters)
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
        for count in [0, 1, 8, 127, 128, 256, 4096, 1_052_672, 2_105_343] {
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
        try put([UInt8](repeating: 0x41, count: 2_105_344))
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
