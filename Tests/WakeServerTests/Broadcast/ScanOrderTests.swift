import TestSupport
import Testing
import WakeModel
import WakeStore

@testable import WakeServer

@Suite("The scan order")
struct ScanOrderTests {
    @Test(
        "every place has one beginning of an id, and every beginning one place", arguments: 1...12)
    func permutation(_ bits: UInt8) {
        let order = ScanOrder(seed: UInt64(bits), blockBits: bits)
        var random = SplitMix64(seed: 1)
        for _ in 0..<2000 {
            let prefix = UInt32(truncatingIfNeeded: random.next())
            for generation in Generation.allCases {
                let place = order.place(of: prefix, in: generation)
                #expect(place < ScanOrder.end && ScanOrder.generation(at: place) == generation)
                let ranges = order.ids(at: place..<place + 1)
                #expect(ranges.count == 1 && ranges[0].prefixes == prefix...prefix)
            }
        }
    }

    @Test("the ids at all places are all ids, once, in blocks that are not in their order")
    func whole() {
        let order = ScanOrder(seed: 5, blockBits: 12)
        let ranges = order.ids(at: 0..<ScanOrder.currentStart).map(\.prefixes)
        #expect(ranges.count == 4096)
        let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
        #expect(sorted != ranges && sorted[0].lowerBound == 0)
        #expect(zip(sorted, sorted.dropFirst()).allSatisfy { $0.upperBound + 1 == $1.lowerBound })
        #expect(sorted.last?.upperBound == .max)
        let current = order.ids(at: ScanOrder.currentStart..<ScanOrder.end).map(\.prefixes)
        #expect(current == ranges)
        #expect(order.ids(at: 0..<order.widest).count == ScanOrder.blocksAtOnce)
    }

    @Test("an order is that of its seed for ever: a run goes on under another build")
    func vector() {
        let order = ScanOrder(seed: 42, blockBits: 3)
        let blocks = order.ids(at: 0..<ScanOrder.currentStart).map { $0.prefixes.lowerBound >> 29 }
        #expect(blocks == Self.vector, "\(blocks)")
    }

    /// By another program of a few lines.
    private static let vector: [UInt32] = [3, 1, 6, 2, 4, 0, 7, 5]

    @Test("the number of blocks grows with the store, up to 4,096")
    func blockBits() {
        #expect(
            [0, 64, 65, 1000, 5_000_000].map { ScanOrder.blockBits(rows: $0) } == [6, 6, 7, 10, 12])
    }

    @Test("two runs have other orders")
    func random() {
        let firsts = (0..<100).map { _ in
            ScanOrder(seed: .random(in: 0...(1 << 53)), blockBits: 12).ids(at: 0..<1)[0].through
        }
        #expect(Set(firsts).count > 95)
    }

    @Test("rows renewed at any time in a run, with kills, are never missed", arguments: 0..<6)
    func renewals(_ seed: UInt64) {
        var world = RenewalWorld(seed: seed)
        while !world.lifetime() {}
        #expect(world.pushed.count == RenewalWorld.rows)
        #expect(world.kills > 0)
    }
}

extension IDRange {
    /// The first 32 bits of the least and the greatest of its ids, which have all that begin so.
    fileprivate var prefixes: ClosedRange<UInt32> {
        func prefix(_ id: [UInt8]) -> UInt32 { id.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
        return (after.isEmpty ? 0 : prefix(after) + 1)...prefix(through)
    }
}

/// Rows that are renewed at random during a run that is killed at random, and whose gateway goes
/// away at random: a row moves from previous to current, where it has another id.
private struct RenewalWorld {
    static let rows = 300

    private var random: SplitMix64
    private var places: [UInt64] = []
    private var saved: RunPosition.Numbers?
    private(set) var pushed: Set<Int> = []
    private(set) var kills = 0

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        for _ in 0..<Self.rows { places.append(.random(in: 0..<ScanOrder.end, using: &random)) }
    }

    /// - Returns: whether the run ended; else it was killed.
    mutating func lifetime() -> Bool {
        var position = saved.flatMap { RunPosition($0) } ?? RunPosition()
        var pending = PendingPlaces()
        var inFlight: [(row: Int, number: Int)] = []
        while true {
            renewSome()
            if Int.random(in: 0..<12, using: &random) == 0 {
                kills += 1
                return false
            }
            if Int.random(in: 0..<60, using: &random) == 0 {
                position.readAgain(pending.left)
                (pending, inFlight) = (PendingPlaces(), [])
            }
            let again = position.firstAgain
            let width = UInt64.random(in: 0..<ScanOrder.currentStart / 20, using: &random)
            let end =
                position.next < ScanOrder.currentStart ? ScanOrder.currentStart : ScanOrder.end
            let new = position.next..<min(position.next + width, end)
            let read = again.isEmpty ? [new] : Array(again)
            for row in places.indices.sorted(by: { places[$0] < places[$1] })
            where read.contains(where: { $0.contains(places[row]) }) {
                inFlight.append((row, pending.append(places[row])))
            }
            if again.isEmpty {
                position.next = new.upperBound
            } else {
                position.finishAgain(again.count)
            }
            for _ in 0..<Int.random(in: 0...inFlight.count, using: &random) {
                let index = Int.random(in: inFlight.indices, using: &random)
                let (row, number) = inFlight.remove(at: index)
                pushed.insert(row)
                pending.complete(number)
            }
            let left = position.again.isEmpty ? pending.holes : (places: pending.left, next: nil)
            saved = position.numbers(at: left.next ?? position.next, pending: left.places)
            if inFlight.isEmpty, position.again.isEmpty, position.next == ScanOrder.end {
                return true
            }
        }
    }

    private mutating func renewSome() {
        for _ in 0..<3 {
            let row = Int.random(in: places.indices, using: &random)
            if places[row] < ScanOrder.currentStart {
                places[row] = .random(in: ScanOrder.currentStart..<ScanOrder.end, using: &random)
            }
        }
    }
}
