import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeServer

@Suite("The progress of a broadcast")
struct BroadcastProgressTests {
    private func counters(_ sent: UInt64) -> RunCounters {
        var counters = RunCounters()
        counters.accepted = sent
        return counters
    }

    @Test("the line shows share, rate, time left and counts")
    func line() {
        var counts = counters(4_230_000)
        counts.gone = 123
        counts.retried = 1234
        counts.abandoned = 2
        counts.unsent = 1
        let progress = BroadcastProgress(fraction: 0.4239, counters: counts, seconds: 343.9)
        let expected =
            " 42.3 %  12.3k/s  0:07:47 left  accepted 4.23M  gone 123  retried 1.23k  failed 3"
        #expect(progress.line == expected)
        counts.tripped = 2
        let tripped = BroadcastProgress(fraction: 0.4239, counters: counts, seconds: 343.9)
        #expect(tripped.line == expected + "  breaker")
    }

    @Test("in the first second nothing is guessed, at the end nothing is left")
    func ends() {
        let first = BroadcastProgress(fraction: 0, counters: counters(0), seconds: 0.5)
        #expect(first.line.hasPrefix("  0.0 %  -/s  - left  accepted 0"))
        let stuck = BroadcastProgress(fraction: 0, counters: counters(5), seconds: 60)
        #expect(stuck.secondsLeft == nil)
        let last = BroadcastProgress(fraction: 1, counters: counters(5), seconds: 60)
        #expect(last.line.hasPrefix("100.0 %  0/s  0:00:00 left"))
        // Not before.
        let almost = BroadcastProgress(fraction: 0.99999, counters: counters(5), seconds: 60)
        #expect(almost.line.hasPrefix(" 99.9 %"))
    }

    @Test("after a resume rate and time left are those of this run")
    func resumed() {
        let progress = BroadcastProgress(
            fraction: 0.6, counters: counters(700), seconds: 10, since: (0.5, counters(600)))
        #expect(progress.rate == 10)
        #expect(progress.secondsLeft == 40)
    }

    @Test("the line stays within 100 columns, whatever the numbers")
    func width() {
        var random = SplitMix64(seed: 1)
        for _ in 0..<5000 {
            func any() -> UInt64 { random.next() >> UInt64.random(in: 0...63, using: &random) }
            var counts = RunCounters()
            counts.accepted = any()
            counts.gone = any()
            counts.retried = any()
            counts.abandoned = any()
            counts.unsent = any()
            counts.tripped = any()
            let fractions = [
                0, 1, -1, 2, .nan, .infinity, Double.random(in: 0...1, using: &random),
            ]
            let progress = BroadcastProgress(
                fraction: fractions[Int.random(in: 0..<7, using: &random)], counters: counts,
                seconds: Double.random(in: 0...1e9, using: &random),
                since: (Double.random(in: 0...1, using: &random), counters(any())))
            #expect(progress.line.count <= 100)
            var text = JSONText()
            text.beginObject()
            progress.addMembers(to: &text)
            text.endObject()
            #expect(throws: Never.self) {
                try JSONSerialization.jsonObject(with: Data(text.bytes))
            }
        }
    }

    @Test("scripts get numbers, and null for what is not known")
    func json() throws {
        func members(_ progress: BroadcastProgress) throws -> [String: Any] {
            var text = JSONText()
            text.beginObject()
            progress.addMembers(to: &text)
            text.endObject()
            let object = try JSONSerialization.jsonObject(with: Data(text.bytes))
            return try #require(object as? [String: Any])
        }
        let known = try members(
            BroadcastProgress(fraction: 0.25, counters: counters(500), seconds: 50))
        #expect(known["progress"] as? Double == 0.25)
        #expect(known["pushesPerSecond"] as? Double == 10)
        #expect(known["secondsLeft"] as? Int == 150)
        #expect(known["accepted"] as? Int == 500)
        #expect(known["tripped"] as? Bool == false)
        let unknown = try members(
            BroadcastProgress(fraction: 0, counters: counters(0), seconds: 0))
        #expect(unknown["secondsLeft"] is NSNull && unknown["pushesPerSecond"] is NSNull)
    }

    @Test("numbers are formatted for people")
    func figures() {
        #expect(
            [0, 999, 1000, 12_345, -1_234_567].map { NumberFormat.grouped($0) }
                == ["0", "999", "1,000", "12,345", "-1,234,567"])
        let short: [(UInt64, String)] = [
            (0, "0"), (999, "999"), (1000, "1.00k"), (1234, "1.23k"), (9994, "9.99k"),
            (9995, "10.0k"), (99_949, "99.9k"), (99_950, "100k"), (999_499, "999k"),
            (999_500, "1.00M"), (UInt64.max, "18.4E"),
        ]
        for (number, text) in short { #expect(NumberFormat.short(number) == text) }
        #expect(
            [0, 59, 3599, 359_999, 360_000, 86_400_000, -5].map(NumberFormat.clock)
                == ["0:00:00", "0:00:59", "0:59:59", "99:59:59", "4d 4h", "> 999d", "0:00:00"])
        #expect(NumberFormat.fixed(-0.05, decimals: 1) == "-0.1")
        #expect(NumberFormat.fixed(1.0, decimals: 3) == "1.000")
        #expect(NumberFormat.fixed(.nan, decimals: 1) == "0.0")
    }
}
