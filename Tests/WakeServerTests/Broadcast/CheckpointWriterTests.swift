import Glibc
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeServer

/// The writer with a real file, against rows that are read and completed at random.
@Suite("The checkpoint writer", .timeLimit(.minutes(10)))
struct CheckpointWriterTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/checkpoint" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func created(seed: UInt64) throws -> CheckpointWriter {
        let header = Checkpoint.Header(run: 1, sequence: 1, reasons: .asked, generation: 1)
        return writer(try Checkpoint.create(path, header), seed: seed)
    }

    private func reopened() throws -> CheckpointWriter {
        writer(try #require(try Checkpoint.open(path)), seed: 99)
    }

    private func writer(_ checkpoint: Checkpoint, seed: UInt64) -> CheckpointWriter {
        var random = SplitMix64(seed: seed)
        let start = UInt32.random(in: 0..<1_048_576, using: &random)
        let order = ScanOrder(start: start, blocks: 1, using: &random)
        return CheckpointWriter(checkpoint, order: order, log: Log(level: .error))
    }

    private func ids(_ count: Int, _ random: inout SplitMix64) -> [[UInt8]] {
        (0..<count).map { _ in
            // Few buckets have rows, and most of those have several.
            let bucket = UInt32.random(in: 0..<1500, using: &random) * 699
            let start = [bucket >> 12, bucket >> 4, bucket << 4].map {
                UInt8(truncatingIfNeeded: $0)
            }
            return start + (0..<29).map { _ in UInt8.random(in: 0...255, using: &random) }
        }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// A table of rows, and how often each was completed.
    private struct Table {
        let rows: [Generation: [[UInt8]]]
        var completed: [[UInt8]: Int] = [:]

        func rows(of run: BucketRange) -> [[UInt8]] {
            (rows[run.generation] ?? []).filter(run.contains)
        }
    }

    /// Works on the run until its end, or until a random row.
    /// - Returns: whether it came to the end.
    private func work(
        _ writer: CheckpointWriter, _ table: inout Table, stopAfter limit: Int,
        _ random: inout SplitMix64
    ) -> Bool {
        var pending: [(id: [UInt8], segment: Int)] = []
        var left = limit
        var hasCurrent = false
        func completeSome(_ share: Int, _ table: inout Table) {
            pending.shuffle(using: &random)
            for _ in 0..<(pending.count * share / 100) {
                let row = pending.removeLast()
                table.completed[row.id, default: 0] += 1
                writer.complete(row.segment)
            }
            writer.save(RunCounters())
        }
        while true {
            switch writer.next() {
            case .end: return true
            case .wait: completeSome(100, &table)
            case .range(let run):
                writer.begin([run])
                // Otherwise a kill repeats what was read of current.
                if run.generation == .current, !hasCurrent { completeSome(100, &table) }
                hasCurrent = run.generation == .current
                for id in table.rows(of: run) {
                    if left == 0 {
                        writer.abandonRanges()
                        completeSome(.random(in: 0...100, using: &random), &table)
                        return false
                    }
                    left -= 1
                    let bucket = BucketRange.bucket(of: id)
                    let place = writer.read(bucket, of: run.generation, for: .all)
                    pending.append((id, place.segment))
                    if Int.random(in: 0..<40, using: &random) == 0 { completeSome(70, &table) }
                }
                writer.endRanges()
            }
        }
    }

    @Test(
        "killed at any row, it reads again what was not completed, and little else",
        arguments: 1...8)
    func kills(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var table = Table(rows: [.previous: ids(700, &random), .current: ids(900, &random)])
        var writer = try created(seed: seed)
        var runs = 1
        while !work(writer, &table, stopAfter: .random(in: 0..<700, using: &random), &random) {
            writer = try reopened()
            runs += 1
        }
        #expect(table.completed.count == 1600)
        #expect(runs > 2)
        // Every kill repeats no more than the buckets that were not completed.
        #expect(table.completed.values.reduce(0, +) < 1600 + runs * 200)
    }

    @Test("after a read that failed it goes back to what is not done", arguments: 1...8)
    func rewinds(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var table = Table(rows: [.previous: ids(500, &random), .current: ids(500, &random)])
        let writer = try created(seed: seed)
        var failures = 0
        while !work(writer, &table, stopAfter: .random(in: 0..<400, using: &random), &random) {
            writer.rewind()
            failures += 1
        }
        #expect(failures > 1)
        #expect(table.completed.count == 1000)
    }

    @Test("a bucket whose rows came in two runs is done with the last of them only")
    func brokenBucket() throws {
        let writer = try created(seed: 3)
        guard case .range(let run) = writer.next() else { throw TestFailure("nothing to read") }
        writer.begin([run])
        // Of bucket `first + 5` only one of two rows was read before the store failed.
        let place = writer.read(run.first + 5, of: run.generation, for: .all)
        #expect(!place.isBegun && !place.isDone)
        writer.complete(place.segment)
        writer.abandonRanges()
        writer.save(RunCounters())
        writer.rewind()
        guard case .range(let rest) = writer.next() else { throw TestFailure("all done") }
        writer.begin([rest])
        #expect(rest.first <= run.first + 5)
        let places = [run.first + 5, run.first + 5, run.first + 9].map {
            writer.read($0, of: run.generation, for: .all)
        }
        #expect(places.map(\.isBegun) == [false, true, false])
        writer.complete(places[0].segment)
        writer.save(RunCounters())
        #expect(try !isDone(run.generation, run.first + 5))
        writer.complete(places[1].segment)
        writer.save(RunCounters())
        #expect(try isDone(run.generation, run.first + 5))
    }

    @Test("of current nothing is written down before the last row of previous has its outcome")
    func lateRow() throws {
        let writer = try created(seed: 6)
        var late: Int?
        while case .range(let range) = writer.next() {
            writer.begin([range])
            if late == nil {
                late = writer.read(range.first, of: range.generation, for: .all).segment
            }
            writer.endRanges()
        }
        writer.save(RunCounters())
        #expect(try !isDone(.current, 5))
        #expect(try isDone(.previous, 5) || isDone(.previous, 1_048_000))
        writer.complete(try #require(late))
        writer.save(RunCounters())
        #expect(writer.next() == .end)
        let done = try #require(try Checkpoint.open(path)).done
        #expect(done.previous.isComplete && done.current.isComplete)
    }

    private func isDone(_ generation: Generation, _ bucket: UInt32) throws -> Bool {
        try #require(try Checkpoint.open(path)).done[generation].contains(bucket)
    }

    @Test("the counters of the end are kept however soon it comes")
    func closing() throws {
        let writer = try created(seed: 4)
        var counters = RunCounters()
        writer.save(counters)
        counters.accepted = 1234
        counters.tripped = 1
        writer.save(counters)
        writer.close(counters)
        #expect(try reopened().counters == counters)
    }

    @Test("a file that cannot be written to does not keep the run from its end")
    func unwritable() throws {
        var random = SplitMix64(seed: 5)
        var table = Table(rows: [.previous: ids(300, &random), .current: ids(300, &random)])
        let writer = try created(seed: 5)
        // Every write to the descriptor of the checkpoint fails from now on, as on a full disk.
        let full = unsafe open("/dev/full", O_RDWR | O_CLOEXEC)
        defer { close(full) }
        var replaced = 0
        for descriptor in 3..<Int32(1024) where Self.target(of: descriptor) == path {
            #expect(dup2(full, descriptor) == descriptor)
            replaced += 1
        }
        #expect(replaced == 1)
        #expect(work(writer, &table, stopAfter: .max, &random))
        #expect(table.completed.count == 600)
    }

    private static func target(of descriptor: Int32) -> String? {
        var path = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/fd/\(descriptor)", &path, path.count - 1)
        guard count > 0 else { return nil }
        return String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension BucketRange {
    static func bucket(of id: [UInt8]) -> UInt32 { bucket(ofPrefix: id.span.bigEndian(at: 0)) }
}

extension CheckpointWriter {
    fileprivate func read(
        _ bucket: UInt32, of generation: Generation, for service: ServiceSet
    ) -> RowPlace {
        withProgress { $0.read(bucket, of: generation, for: service) }
    }
}
