import TestSupport
import Testing

@testable import WakeServer

@Suite("What the public is told, and when")
struct PublicCountersTests {
    private func counts(deletes: Int, current: Int? = nil) -> ExactCounts {
        var counts = ExactCounts()
        counts[.deletes] = deletes
        counts[.currentRegistrations] = current
        return counts
    }

    @Test("before the first broadcast nothing is told, and the object says so by leaving it out")
    func before() {
        let counters = PublicCounters()
        #expect(PublicCounter.allCases.allSatisfy { counters[$0] == nil })
        #expect(
            String(decoding: counters.encode(), as: UTF8.self)
                == #"{"rounded_to":10,"null_under":20,"last_broadcast":{},"since_start":{}}"# + "\n"
        )
    }

    @Test("two readings between broadcasts are the same, whatever people do meanwhile")
    func still() {
        var random = SplitMix64(seed: 3)
        var counters = PublicCounters()
        counters.update(counts(deletes: 1234), using: &random)
        let first = counters.encode()
        // What happens now is counted elsewhere; nothing leads here but `update`.
        #expect(counters.encode() == first)
    }

    @Test("a count that did not change is not drawn again: an average over readings tells nothing")
    func memory() {
        var random = SplitMix64(seed: 4)
        var counters = PublicCounters()
        counters.update(counts(deletes: 1235), using: &random)
        let first = counters[.deletes]
        for _ in 0..<1_000 {
            counters.update(counts(deletes: 1235), using: &random)
            #expect(counters[.deletes] == first)
        }
    }

    @Test("whatever else is counted, one person in between changes the odds by one in ten at most")
    func onePerson() {
        // Somebody who makes every other event, and knows of all but one, reads before and after.
        for own in 0..<10 {
            var tens: [[Int?: Int]] = [[:], [:]]
            for person in 0...1 {
                for seed in 0..<4_000 as Range<UInt64> {
                    var random = SplitMix64(seed: seed)
                    var counters = PublicCounters()
                    counters.update(counts(deletes: 990), using: &random)
                    counters.update(counts(deletes: 990 + own + person), using: &random)
                    tens[person][counters[.deletes]?.value, default: 0] += 1
                }
            }
            for told in Set(tens[0].keys).union(tens[1].keys) {
                let difference = (tens[0][told] ?? 0) - (tens[1][told] ?? 0)
                // A tenth of 4,000, and five standard deviations for chance.
                #expect(abs(difference) <= 400 + 225, "\(own)")
            }
        }
    }

    @Test("what a broadcast could not count stays as it was")
    func kept() {
        var random = SplitMix64(seed: 5)
        var counters = PublicCounters()
        counters.update(counts(deletes: 5, current: 500), using: &random)
        counters.update(counts(deletes: 6, current: nil), using: &random)
        #expect(counters[.currentRegistrations]?.value == 500)
        let text = String(decoding: counters.encode(), as: UTF8.self)
        #expect(text.contains(#""last_broadcast":{"registrations_current":500}"#))
        #expect(text.contains(#""since_start":{"deletes":null}"#))
    }
}
