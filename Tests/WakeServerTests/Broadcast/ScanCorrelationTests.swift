import TestSupport
import Testing
import WakeModel

@testable import WakeServer

/// The order of push tokens in two runs, as a push service sees it.
@Suite("The order of push tokens")
struct ScanCorrelationTests {
    private static let rows = 20_000

    /// The ids of a store, as they lie there.
    private static let ids: [[UInt8]] = {
        var random = SplitMix64(seed: 11)
        return (0..<rows).map { _ in (0..<32).map { _ in .random(in: 0...255, using: &random) } }
            .sorted { $0.lexicographicallyPrecedes($1) }
    }()

    private static let buckets = ids.map { BucketRange.bucket(of: $0) }

    private static func firstRow(from bucket: UInt32) -> Int {
        var (low, high) = (0, rows)
        while low < high {
            let middle = (low + high) / 2
            if buckets[middle] < bucket { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The position of every row in a run that begins at a bucket.
    private func places(start: UInt32, blocks: Int) -> [Double] {
        var places = [Double](repeating: -1, count: Self.rows)
        var next = 0.0
        var done = CompletedBuckets()
        done.insert(BucketRange(.previous, first: 0, last: UInt32(BucketBitmap.buckets - 1)))
        var random = SplitMix64(seed: UInt64(start))
        var order = ScanOrder(start: start, blocks: blocks, using: &random)
        while case .range(let range) = order.next(notIn: done) {
            var row = Self.firstRow(from: range.first)
            while row < Self.rows, Self.buckets[row] <= range.last {
                places[row] = next
                next += 1
                row += 1
            }
            done.insert(range)
        }
        return places
    }

    /// Spearman's rho of two orders: of ranks without ties, Pearson's.
    private func correlation(_ one: [Double], _ other: [Double]) -> Double {
        let mean = Double(Self.rows - 1) / 2
        let both = zip(one, other).reduce(0) { $0 + ($1.0 - mean) * ($1.1 - mean) }
        let each = one.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        return both / each
    }

    @Test("the orders of two runs over the same rows are uncorrelated")
    func uncorrelated() {
        var random = SplitMix64(seed: 12)
        let blocks = ScanOrder.blockCount(rows: Self.rows)
        var last = Self.ids.indices.map(Double.init)
        for _ in 0..<6 {
            let start = UInt32.random(in: 0..<UInt32(BucketBitmap.buckets), using: &random)
            let places = places(start: start, blocks: blocks)
            #expect(Set(places).count == Self.rows && !places.contains(-1))
            let rho = correlation(last, places)
            // Of 4,096 blocks the deviation is 0.016.
            #expect(abs(rho) < 0.05, "\(rho)")
            last = places
        }
    }

    @Test("the control: orders that differ in nothing but where they begin are correlated")
    func control() {
        let one = places(start: 0, blocks: 1)
        let other = places(start: 20_000, blocks: 1)
        #expect(correlation(one, other) > 0.8)
        #expect(abs(correlation(one, one) - 1) < 1e-9)
    }
}
