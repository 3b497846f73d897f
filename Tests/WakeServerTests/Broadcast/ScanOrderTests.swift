import TestSupport
import Testing
import WakeModel
import WakeStore

@testable import WakeServer

@Suite("The scan order")
struct ScanOrderTests {
    /// Every range until the end, each marked done when it is returned.
    private func ranges(
        _ order: ScanOrder, from done: CompletedBuckets = CompletedBuckets()
    ) -> [BucketRange] {
        var (order, done) = (order, done)
        var ranges: [BucketRange] = []
        while case .range(let range) = order.next(notIn: done) {
            let before = done[range.generation].count
            done.insert(range)
            // None of it was there before.
            #expect(done[range.generation].count == before + range.count)
            ranges.append(range)
        }
        #expect(order.next(notIn: done) == .end)
        #expect(done.previous.isComplete && done.current.isComplete)
        return ranges
    }

    @Test(
        "previous comes before current, each once around from the start",
        arguments: [0, 4711, 1_048_575] as [UInt32])
    func order(_ start: UInt32) {
        let ranges = ranges(ScanOrder(inOrderFrom: start))
        let around = (0..<UInt32(1_048_576)).map { (start + $0) % 1_048_576 }
        let half = ranges.count / 2
        #expect(ranges.prefix(half).flatMap { $0.first...$0.last } == around)
        #expect(ranges.prefix(half).allSatisfy { $0.generation == .previous })
        #expect(ranges.dropFirst(half).flatMap { $0.first...$0.last } == around)
        #expect(ranges.dropFirst(half).allSatisfy { $0.generation == .current })
    }

    @Test("every bucket comes once in each generation, in the same order of blocks, not by number")
    func blocks() {
        var random = SplitMix64(seed: 5)
        let ranges = ranges(ScanOrder(start: 777, blocks: 4096, using: &random))
        let previous = ranges.filter { $0.generation == .previous }
        let current = ranges.filter { $0.generation == .current }
        #expect(ranges == previous + current)
        #expect(previous.map(\.first) == current.map(\.first))
        #expect(previous.first?.first == 777)
        #expect(previous.count > 4000 && previous.map(\.first) != previous.map(\.first).sorted())
    }

    @Test("the number of blocks grows with the store, up to 4,096")
    func blockCount() {
        #expect(
            [0, 64, 65, 1000, 5_000_000].map { ScanOrder.blockCount(rows: $0) } == [
                64, 64, 128, 1024, 4096,
            ])
    }

    @Test("ranges never wrap, overlap, or contain a bucket that is done", arguments: [1, 64, 4096])
    func partlyDone(_ blocks: Int) {
        var random = SplitMix64(seed: 1)
        var done = CompletedBuckets()
        for _ in 0..<500 {
            for generation in [Generation.previous, .current] {
                let bucket = UInt32.random(in: 0..<1_048_576, using: &random)
                done.insert(BucketRange(generation, first: bucket, last: bucket))
            }
        }
        let left = 2 * 1_048_576 - done[.previous].count - done[.current].count
        let start = UInt32.random(in: 0..<1_048_576, using: &random)
        let order = ScanOrder(start: start, blocks: blocks, using: &random)
        #expect(ranges(order, from: done).map(\.count).reduce(0, +) == left)
    }

    @Test("current does not wait for previous to be done, the end waits for both")
    func waits() {
        var done = CompletedBuckets()
        var random = SplitMix64(seed: 3)
        var order = ScanOrder(start: 40_000, blocks: 16, using: &random)
        var returned: [BucketRange] = []
        while case .range(let range) = order.next(notIn: done) { returned.append(range) }
        let (previous, current) = (
            returned.prefix { $0.generation == .previous }, returned.count / 2
        )
        #expect(previous.count == current && current >= 16)
        #expect(order.next(notIn: done) == .wait)
        let late = returned[3]
        for range in returned where range != late { done.insert(range) }
        #expect(order.next(notIn: done) == .wait)
        order.rewind()
        #expect(order.next(notIn: done) == .range(late))
        #expect(order.next(notIn: done) == .wait)
        done.insert(late)
        #expect(order.next(notIn: done) == .end)
    }

    @Test("a page after the bound begins with the first id of the range")
    func bounds() throws {
        var random = SplitMix64(seed: 2)
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
            let range = BucketRange(.previous, first: bounds.min() ?? 0, last: bounds.max() ?? 0)
            let page = sorted.drop { !range.ids.after.lexicographicallyPrecedes($0) }
            let prefixes = sorted.filter { id in
                let bucket: UInt32 = UInt32(id[0]) << 12 | UInt32(id[1]) << 4 | UInt32(id[2]) >> 4
                return bucket >= range.first && bucket <= range.last
            }
            #expect(Array(page.prefix(prefixes.count)) == prefixes)
            #expect(prefixes.allSatisfy(range.contains))
            if page.count > prefixes.count {
                let next = try #require(page.dropFirst(prefixes.count).first)
                #expect(!range.contains(next))
            }
        }
        #expect(BucketRange(.current, first: 0, last: 0).ids.after == [])
        let one = [0, 0, 15] + [UInt8](repeating: 255, count: 29)
        #expect(BucketRange(.current, first: 1, last: 1).ids.after == one)
        #expect(!BucketRange(.current, first: 0, last: 1_048_575).contains([1, 2, 3]))
    }

    @Test("rows renewed at any time in a run, with crashes, are never missed")
    func renewals() {
        for seed in 0..<6 as Range<UInt64> {
            var world = RenewalWorld(seed: seed)
            world.run()
            #expect(world.pushed.count == RenewalWorld.rows, "seed \(seed)")
        }
    }

    @Test("two runs begin elsewhere and have other orders")
    func random() {
        var random = SystemRandomNumberGenerator()
        let firsts = (0..<100).map { _ in
            var order = ScanOrder(rows: 5000, using: &random)
            return order.next(notIn: CompletedBuckets())
        }
        var distinct: [ScanOrder.Step] = []
        for first in firsts where !distinct.contains(first) { distinct.append(first) }
        #expect(distinct.count > 95)
    }

    @Test("progress weighs the generations by their rows")
    func progress() {
        var done = CompletedBuckets()
        #expect(done.progress(previousRows: 10, currentRows: 90) == 0)
        done.insert(BucketRange(.previous, first: 0, last: 1_048_575))
        #expect(done.progress(previousRows: 0, currentRows: 0) == 0.5)
        #expect(abs(done.progress(previousRows: 10, currentRows: 90) - 0.1) < 1e-9)
        done.insert(BucketRange(.current, first: 0, last: 524_287))
        #expect(abs(done.progress(previousRows: 10, currentRows: 90) - 0.55) < 1e-9)
        done.insert(BucketRange(.current, first: 0, last: 1_048_575))
        #expect(done.progress(previousRows: 10, currentRows: 90) == 1)
    }
}

/// Rows that are renewed at random during a run that is killed at random: a row moves from previous
/// to current, where it has another id.
private struct RenewalWorld {
    static let rows = 300

    private struct Row {
        var generation: Generation
        var bucket: UInt32
    }

    private var random: SplitMix64
    private var rows: [Row] = []
    private var done = CompletedBuckets()
    private let start: UInt32
    private(set) var pushed: Set<Int> = []

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
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

    /// - Returns: whether the run ended; else it was killed.
    private mutating func lifetime() -> Bool {
        var order = ScanOrder(start: start, blocks: 64, using: &random)
        // Read, not pushed yet: lost when the run is killed.
        var inFlight: [(range: BucketRange, rows: [Int])] = []
        while true {
            renewSome()
            if Int.random(in: 0..<90, using: &random) == 0 {
                // Of current nothing is written before previous is complete.
                done.forgetCurrent()
                return false
            }
            switch order.next(notIn: done) {
            case .range(let range):
                let members = rows.indices.filter {
                    rows[$0].generation == range.generation
                        && (range.first...range.last).contains(rows[$0].bucket)
                }
                inFlight.append((range, members))
                if inFlight.count > 5 { complete(&inFlight) }
            case .wait: complete(&inFlight)
            case .end: return true
            }
        }
    }

    private mutating func complete(_ inFlight: inout [(range: BucketRange, rows: [Int])]) {
        let (range, members) = inFlight.remove(at: .random(in: inFlight.indices, using: &random))
        pushed.formUnion(members)
        done.insert(range)
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

extension ScanOrder {
    /// One block.
    fileprivate init(inOrderFrom start: UInt32) {
        var random = SplitMix64(seed: 0)
        self.init(start: start, blocks: 1, using: &random)
    }
}
