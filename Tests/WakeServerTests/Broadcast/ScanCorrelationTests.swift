import TestSupport
import Testing
import WakeModel
import WakeSystem

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

    /// The position of every row in a run.
    private func places(_ order: ScanOrder) -> [Double] {
        let places = Self.ids.map { order.place(of: $0.span.bigEndian(at: 0), in: .current) }
        var positions = [Double](repeating: -1, count: Self.rows)
        for (position, row) in places.indices.sorted(by: { places[$0] < places[$1] }).enumerated() {
            positions[row] = Double(position)
        }
        return positions
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
        let bits = ScanOrder.blockBits(rows: Self.rows)
        var last = Self.ids.indices.map(Double.init)
        for _ in 0..<6 {
            let places = places(ScanOrder(seed: random.next(), blockBits: bits))
            let rho = correlation(last, places)
            // Of 4,096 blocks the deviation is 0.016.
            #expect(abs(rho) < 0.05, "\(rho)")
            last = places
        }
    }

    @Test("the control: orders of two blocks are correlated")
    func control() {
        let one = places(ScanOrder(seed: 0, blockBits: 1))
        #expect(abs(correlation(one, one) - 1) < 1e-9)
        #expect(abs(correlation(one, Self.ids.indices.map(Double.init))) > 0.4)
    }
}
