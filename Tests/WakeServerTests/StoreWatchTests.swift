import TestSupport
import Testing
import WakeStore

@testable import WakeServer

@Suite("What the log says of the store's condition")
struct StoreWatchTests {
    @Test("near a full disk, where every other request finds room, one line is said")
    func alternating() {
        var watch = StoreWatch()
        var said: [StoreCondition] = []
        for request in 0..<21_000 as Range<UInt64> {
            let condition = request % 2 == 0 ? StoreCondition.full : .ready
            // Half an hour of them.
            if let line = watch.note(condition, now: request * 86) { said.append(line) }
        }
        #expect(said == [.full])
    }

    @Test("trouble is said at once, its end after a minute without any")
    func recovery() {
        var watch = StoreWatch()
        #expect(watch.note(.ready, now: 0) == nil)
        #expect(watch.note(.full, now: 1) == .full)
        #expect(watch.note(.full, now: 90_000) == nil)
        #expect(watch.note(.ready, now: 100_000) == nil)
        #expect(watch.note(.ready, now: 159_999) == nil)
        #expect(watch.note(.ready, now: 160_000) == .ready)
        #expect(watch.note(.full, now: 160_001) == .full)
    }

    @Test("what is worse is said at once, and what is less bad only when it lasts")
    func worse() {
        var watch = StoreWatch()
        #expect(watch.note(.full, now: 0) == .full)
        #expect(watch.note(.failing, now: 1) == .failing)
        for now in 2..<1_000 as Range<UInt64> {
            #expect(watch.note(now % 2 == 0 ? .full : .failing, now: now * 50) == nil)
        }
        #expect(watch.note(.full, now: 60_000) == nil)
        #expect(watch.note(.full, now: 120_000) == .full)
    }

    @Test("whatever happens, at most two lines a minute")
    func bound() {
        for seed in 0..<50 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var watch = StoreWatch()
            var lines = 0
            var now: UInt64 = 0
            while now < 3_600_000 {
                now += .random(in: 0...40_000, using: &random)
                let conditions: [StoreCondition] = [.ready, .full, .failing]
                let condition = conditions.randomElement(using: &random) ?? .ready
                if watch.note(condition, now: now) != nil { lines += 1 }
            }
            #expect(lines <= 2 * 60 + 2)
        }
    }
}
