import Testing
import WakeModel

@testable import WakeServer

@Suite("The walk over the buckets")
struct BucketWalkTests {
    /// Every piece until the end, each marked done when it is handed out.
    private func walk(
        _ start: UInt32, from done: RoundBuckets = RoundBuckets(), limit: Int = 1
    ) -> [BucketRun] {
        var done = done
        var walk = BucketWalk(start: start)
        var runs: [BucketRun] = []
        while case .run(let run) = walk.next(notIn: done, limit: limit) {
            done.insert(run)
            runs.append(run)
        }
        #expect(walk.next(notIn: done) == .end)
        return runs
    }

    @Test(
        "previous comes before current, each once around from the start",
        arguments: [0, 4711, 1_048_575] as [UInt32])
    func order(_ start: UInt32) {
        let runs = walk(start)
        let around = (0..<UInt32(1_048_576)).map { (start + $0) % 1_048_576 }
        #expect(runs.prefix(1_048_576).map(\.first) == around)
        #expect(runs.prefix(1_048_576).allSatisfy { $0.generation == .previous })
        #expect(runs.dropFirst(1_048_576).map(\.first) == around)
        #expect(runs.dropFirst(1_048_576).allSatisfy { $0.generation == .current })
        #expect(runs.allSatisfy { $0.first == $0.last })
    }

    @Test("every bucket comes once in each generation, in the same order of blocks, not by number")
    func blocks() {
        var done = RoundBuckets()
        var walk = BucketWalk(start: 777, blocks: 4096)
        var runs: [BucketRun] = []
        while case .run(let run) = walk.next(notIn: done, limit: BucketSet.buckets) {
            // None of it was there before.
            #expect((run.first...run.last).allSatisfy { !done[run.generation].contains($0) })
            done.insert(run)
            runs.append(run)
        }
        #expect(walk.next(notIn: done) == .end)
        #expect(done.previous.isComplete && done.current.isComplete)
        let previous = runs.filter { $0.generation == .previous }
        let current = runs.filter { $0.generation == .current }
        #expect(runs == previous + current)
        #expect(previous.map(\.first) == current.map(\.first))
        #expect(previous.first?.first == 777)
        #expect(previous.count > 4000 && previous.map(\.first) != previous.map(\.first).sorted())
    }

    @Test("so many blocks that a small store is not read in vain, and a large one well mixed")
    func blockCount() {
        #expect([0, 64, 65, 1000, 5_000_000].map(BucketWalk.blocks) == [64, 64, 128, 1024, 4096])
    }

    @Test("pieces of several buckets never wrap, overlap, or take one that is done")
    func pieces() {
        var random = SeededGenerator(1)
        for limit in [7, 1000, 1_048_576] {
            var done = RoundBuckets()
            for _ in 0..<500 {
                done.previous.insert(.random(in: 0..<1_048_576, using: &random))
                done.current.insert(.random(in: 0..<1_048_576, using: &random))
            }
            let left = 2 * 1_048_576 - done[.previous].count - done[.current].count
            let start = UInt32.random(in: 0..<1_048_576, using: &random)
            let runs = walk(start, from: done, limit: limit)
            #expect(runs.map(\.count).reduce(0, +) == left)
            #expect(runs.allSatisfy { $0.count <= limit })
            for run in runs { done.insert(run) }
            #expect(done.previous.isComplete && done.current.isComplete)
        }
    }

    @Test("current waits until all of previous is marked done, not only handed out")
    func settles() {
        var done = RoundBuckets()
        var walk = BucketWalk(start: 40_000)
        var handed: [BucketRun] = []
        while case .run(let run) = walk.next(notIn: done, limit: 65_536) { handed.append(run) }
        #expect(walk.next(notIn: done) == .settle)
        for run in handed.dropLast() {
            done.insert(run)
        }
        #expect(walk.next(notIn: done) == .settle)
        walk.again()
        #expect(walk.next(notIn: done, limit: 65_536) == .run(handed[handed.count - 1]))
        let last = handed[handed.count - 1]
        done.insert(last)
        #expect(walk.next(notIn: done) == .run(BucketRun(.current, first: 40_000, last: 40_000)))
    }

    @Test("a page after the bound begins with the first id of the piece")
    func bounds() throws {
        var random = SeededGenerator(2)
        let edges: [[UInt8]] = [
            [UInt8](repeating: 0, count: 32), [UInt8](repeating: 255, count: 32),
        ]
        let ids =
            (0..<3000).map { _ in
                (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
            } + edges
        let sorted = ids.sorted { $0.lexicographicallyPrecedes($1) }
        for _ in 0..<200 {
            let bounds = [random.next(), random.next()].map { UInt32($0 % 1_048_576) }
            let run = BucketRun(.previous, first: bounds.min() ?? 0, last: bounds.max() ?? 0)
            let page = sorted.drop { !run.after.lexicographicallyPrecedes($0) }
            let prefixes = sorted.filter {
                (run.first...run.last).contains(
                    UInt32($0[0]) << 12 | UInt32($0[1]) << 4 | UInt32($0[2]) >> 4)
            }
            #expect(Array(page.prefix(prefixes.count)) == prefixes)
            #expect(prefixes.allSatisfy(run.contains))
            if page.count > prefixes.count {
                let next = try #require(page.dropFirst(prefixes.count).first)
                #expect(!run.contains(next))
            }
        }
        #expect(BucketRun(.current, first: 0, last: 0).after == [])
        let one = [0, 0, 15] + [UInt8](repeating: 255, count: 29)
        #expect(BucketRun(.current, first: 1, last: 1).after == one)
        #expect(!BucketRun(.current, first: 0, last: 1_048_575).contains([1, 2, 3]))
    }

    @Test("rows renewed at any time in a round, with crashes, are never missed")
    func renewals() {
        for seed in 0..<6 as Range<UInt64> {
            var world = RenewalWorld(seed: seed)
            world.run()
            #expect(world.pushed.count == RenewalWorld.rows, "seed \(seed)")
        }
    }

    @Test("progress weighs the generations by their rows")
    func progress() {
        var done = RoundBuckets()
        #expect(done.progress(previousRows: 10, currentRows: 90) == 0)
        done.insert(BucketRun(.previous, first: 0, last: 1_048_575))
        #expect(done.progress(previousRows: 0, currentRows: 0) == 0.5)
        #expect(abs(done.progress(previousRows: 10, currentRows: 90) - 0.1) < 1e-9)
        done.insert(BucketRun(.current, first: 0, last: 524_287))
        #expect(abs(done.progress(previousRows: 10, currentRows: 90) - 0.55) < 1e-9)
        done.insert(BucketRun(.current, first: 0, last: 1_048_575))
        #expect(done.progress(previousRows: 10, currentRows: 90) == 1)
    }
}

/// Rows that live through a round while they are renewed at random and the round is killed at
/// random: a row moves from previous to current, where it has another id.
private struct RenewalWorld {
    static let rows = 300

    private struct Row {
        var generation: Generation
        var bucket: UInt32
    }

    private var random: SeededGenerator
    private var rows: [Row] = []
    private var done = RoundBuckets()
    private let start: UInt32
    private(set) var pushed: Set<Int> = []

    init(seed: UInt64) {
        random = SeededGenerator(seed)
        start = .random(in: 0..<1_048_576, using: &random)
        for _ in 0..<Self.rows {
            let generation: Generation = Bool.random(using: &random) ? .previous : .current
            rows.append(
                Row(generation: generation, bucket: .random(in: 0..<1_048_576, using: &random)))
        }
    }

    mutating func run() {
        while !lifetime() {}
    }

    /// - Returns: whether the round ended; else it was killed.
    private mutating func lifetime() -> Bool {
        var walk = BucketWalk(start: start)
        // Read, not pushed yet: lost when the round is killed.
        var inWork: [(run: BucketRun, rows: [Int])] = []
        while true {
            renewSome()
            if Int.random(in: 0..<60, using: &random) == 0 { return false }
            switch walk.next(notIn: done, limit: 24_000) {
            case .run(let run):
                let members = rows.indices.filter {
                    rows[$0].generation == run.generation
                        && (run.first...run.last).contains(rows[$0].bucket)
                }
                inWork.append((run, members))
                if inWork.count > 5 { settle(&inWork) }
            case .settle:
                settle(&inWork)
            case .end:
                return true
            }
        }
    }

    private mutating func settle(_ inWork: inout [(run: BucketRun, rows: [Int])]) {
        let (run, members) = inWork.remove(at: .random(in: inWork.indices, using: &random))
        pushed.formUnion(members)
        done.insert(run)
    }

    private mutating func renewSome() {
        for _ in 0..<3 {
            let row = Int.random(in: rows.indices, using: &random)
            if rows[row].generation == .previous {
                rows[row] = Row(
                    generation: .current, bucket: .random(in: 0..<1_048_576, using: &random))
            }
        }
    }
}
