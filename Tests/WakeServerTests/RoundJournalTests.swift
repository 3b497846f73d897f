import Glibc
import TestSupport
import Testing
import WakeModel
import WakePush

@testable import WakeServer

/// The journal of a round with a real file, against rows that are read and settled at random.
@Suite("The journal of a round", .timeLimit(.minutes(2)))
struct RoundJournalTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/round" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func created(seed: UInt64) throws -> RoundJournal {
        var random = SeededGenerator(seed)
        let header = RoundHeader(
            round: 1, sequence: 1, reasons: .asked, generation: 1,
            started: ClockReading(
                wall: 1_800_000_000, uptime: 5000, boot: [UInt8](repeating: 1, count: 16)),
            using: &random)
        return RoundJournal(try RoundRecord.create(path, header), log: Log(level: .error))
    }

    private func reopened() throws -> RoundJournal {
        guard case .round(let record) = try RoundRecord.open(path) else {
            throw TestFailure("no round to resume")
        }
        return RoundJournal(record, log: Log(level: .error))
    }

    private func ids(_ count: Int, _ random: inout SeededGenerator) -> [[UInt8]] {
        (0..<count).map { _ in
            // Few buckets have rows, and most of those have several.
            let bucket = UInt32.random(in: 0..<1500, using: &random) * 699
            let start = [bucket >> 12, bucket >> 4, bucket << 4].map {
                UInt8(truncatingIfNeeded: $0)
            }
            return start + (0..<29).map { _ in UInt8.random(in: 0...255, using: &random) }
        }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// A table of rows, and what became of each.
    private struct Table {
        let rows: [Generation: [[UInt8]]]
        var settled: [[UInt8]: Int] = [:]

        func rows(of run: BucketRun) -> [[UInt8]] {
            (rows[run.generation] ?? []).filter(run.contains)
        }
    }

    /// Works on the round until its end, or until a random row.
    /// - Returns: whether it came to the end.
    private func work(
        _ journal: RoundJournal, _ table: inout Table, stopAfter limit: Int,
        _ random: inout SeededGenerator
    ) -> Bool {
        var unsettled: [(id: [UInt8], stretch: Int)] = []
        var left = limit
        func settleSome(_ share: Int, _ table: inout Table) {
            unsettled.shuffle(using: &random)
            for _ in 0..<(unsettled.count * share / 100) {
                let row = unsettled.removeLast()
                table.settled[row.id, default: 0] += 1
                journal.settle(row.stretch)
            }
            journal.keep(RoundCounters())
        }
        while true {
            switch journal.next() {
            case .end: return true
            case .settle: settleSome(100, &table)
            case .run(let run):
                for id in table.rows(of: run) {
                    if left == 0 {
                        journal.breakOff()
                        settleSome(.random(in: 0...100, using: &random), &table)
                        return false
                    }
                    left -= 1
                    unsettled.append((id, journal.read(id)))
                    if Int.random(in: 0..<40, using: &random) == 0 { settleSome(70, &table) }
                }
                journal.endRun()
            }
        }
    }

    @Test(
        "killed at any row, it reads again what was not settled, and little else", arguments: 1...8)
    func kills(_ seed: UInt64) throws {
        var random = SeededGenerator(seed)
        var table = Table(rows: [.previous: ids(700, &random), .current: ids(900, &random)])
        var journal = try created(seed: seed)
        var runs = 1
        while !work(journal, &table, stopAfter: .random(in: 0..<700, using: &random), &random) {
            journal = try reopened()
            runs += 1
        }
        #expect(table.settled.count == 1600)
        #expect(runs > 2)
        // Every kill repeats no more than the buckets that were not settled.
        #expect(table.settled.values.reduce(0, +) < 1600 + runs * 200)
    }

    @Test("after a read that failed it goes back to what is not done", arguments: 1...8)
    func again(_ seed: UInt64) throws {
        var random = SeededGenerator(seed)
        var table = Table(rows: [.previous: ids(500, &random), .current: ids(500, &random)])
        let journal = try created(seed: seed)
        var failures = 0
        while !work(journal, &table, stopAfter: .random(in: 0..<400, using: &random), &random) {
            journal.again()
            failures += 1
        }
        #expect(failures > 1)
        #expect(table.settled.count == 1000)
    }

    @Test("a bucket whose rows came in two runs is done with the last of them only")
    func brokenBucket() throws {
        let journal = try created(seed: 3)
        guard case .run(let run) = journal.next() else { throw TestFailure("nothing to read") }
        func id(_ bucket: UInt32, _ last: UInt8) -> [UInt8] {
            [bucket >> 12, bucket >> 4, bucket << 4].map { UInt8(truncatingIfNeeded: $0) }
                + [UInt8](repeating: last, count: 29)
        }
        // Of bucket `first + 5` only one of two rows was read before the store failed.
        journal.settle(journal.read(id(run.first + 5, 1)))
        #expect(journal.continues(id(run.first + 5, 2)))
        #expect(!journal.continues(id(run.first + 6, 1)))
        journal.breakOff()
        journal.keep(RoundCounters())
        journal.again()
        guard case .run(let rest) = journal.next() else { throw TestFailure("all done") }
        #expect(rest.first <= run.first + 5)
        let stretches = [id(run.first + 5, 1), id(run.first + 5, 2)].map { journal.read($0) }
        journal.settle(stretches[0])
        _ = journal.read(id(run.first + 9, 1))
        journal.keep(RoundCounters())
        #expect(try !isDone(run.generation, run.first + 5))
        journal.settle(stretches[1])
        journal.keep(RoundCounters())
        #expect(try isDone(run.generation, run.first + 5))
    }

    private func isDone(_ generation: Generation, _ bucket: UInt32) throws -> Bool {
        guard case .round(let record) = try RoundRecord.open(path) else {
            throw TestFailure("no round to resume")
        }
        return record.isDone(generation, bucket)
    }

    @Test("the counters of the end are kept however soon it comes")
    func closing() throws {
        let journal = try created(seed: 4)
        var counters = RoundCounters()
        journal.keep(counters)
        counters.accepted = 1234
        counters.braked = 1
        journal.keep(counters)
        journal.close(counters)
        #expect(try reopened().counters == counters)
    }

    @Test("a file that cannot be written to does not keep the round from its end")
    func unwritable() throws {
        var random = SeededGenerator(5)
        var table = Table(rows: [.previous: ids(300, &random), .current: ids(300, &random)])
        let journal = try created(seed: 5)
        // Every write to the descriptor of the record fails from now on, as on a full disk.
        let full = unsafe open("/dev/full", O_RDWR | O_CLOEXEC)
        defer { close(full) }
        var replaced = 0
        for descriptor in 3..<Int32(1024) where Self.target(of: descriptor) == path {
            #expect(dup2(full, descriptor) == descriptor)
            replaced += 1
        }
        #expect(replaced == 1)
        #expect(work(journal, &table, stopAfter: .max, &random))
        #expect(table.settled.count == 600)
    }

    private static func target(of descriptor: Int32) -> String? {
        var path = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/fd/\(descriptor)", &path, path.count - 1)
        guard count > 0 else { return nil }
        return String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
