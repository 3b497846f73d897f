import TestSupport
import Testing

@Suite("The histogram of benchmarks")
struct HistogramTests {
    @Test("small numbers and the largest are exact, the rest within 1/64, like a sorted list")
    func percentiles() {
        var random = SplitMix64(seed: 20)
        for _ in 0..<50 {
            let values = (0..<Int.random(in: 1...2000, using: &random)).map { _ in
                UInt64.random(in: 0...UInt64.max, using: &random)
                    >> UInt64.random(
                        in: 0...63, using: &random)
            }
            let (sorted, histogram) = (values.sorted(), Histogram(values))
            #expect(histogram.count == values.count && histogram.most == sorted.last)
            for share in [0, 0.5, 0.9, 0.99, 1] {
                let rank = max(1, Int((share * Double(values.count)).rounded(.up)))
                let (exact, found) = (sorted[rank - 1], histogram.value(at: share))
                #expect(found >= exact && found - exact <= exact / 64)
            }
        }
        #expect(Histogram().value(at: 0.5) == 0)
        #expect(Histogram([7, 63, 63]).value(at: 0.5) == 63)
        #expect(Histogram([UInt64.max]).value(at: 0.1) == .max)
    }

    @Test("the sum of two is that of all numbers")
    func sum() {
        var random = SplitMix64(seed: 21)
        let values = (0..<1000).map { _ in UInt64.random(in: 0...1 << 40, using: &random) }
        var sum = Histogram(values.prefix(300))
        sum.add(Histogram())
        sum.add(Histogram(values.dropFirst(300)))
        #expect(sum == Histogram(values))
        var none = Histogram()
        none.add(Histogram(values))
        #expect(none == Histogram(values))
    }
}
