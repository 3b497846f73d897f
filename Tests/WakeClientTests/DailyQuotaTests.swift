import TestSupport
import Testing
import WakeSystem

@testable import Reveille

@Suite("A day's bytes, as a value")
struct DailyQuotaTests {
    private static let day: Int64 = 86_400
    private static let noon: Int64 = 20_000 * day + day / 2
    private static let most = 256 + (4 << 20)

    private func budget(_ limit: Int = 1 << 20, used: Int = 0) -> DailyQuota {
        DailyQuota(limit: limit, day: 20_000, bytes: used)
    }

    @Test("days begin at midnight of UTC, also before 1970")
    func days() {
        for day in [Int64(-3), -1, 0, 1, 20_000] {
            var budget = DailyQuota(limit: 1 << 20, day: day - 1, bytes: 77)
            budget.advance(to: day * Self.day - 1, signed: nil)
            #expect(budget.bytes == 77)
            budget.advance(to: day * Self.day, signed: nil)
            #expect(budget.bytes == 0 && budget.day == day)
            #expect(budget.nextDay == (day + 1) * Self.day)
        }
    }

    @Test(
        "a clock set back refills nothing, however far", arguments: [1, 3600, 86_400, 31_536_000])
    func setBack(_ seconds: Int64) {
        var budget = budget(used: 900_000)
        for signed in [nil, Self.noon - 3600, Self.noon - 13 * Self.day] {
            budget.advance(to: Self.noon - seconds, signed: signed)
            #expect(budget.bytes == 900_000)
            budget.advance(to: Self.noon, signed: signed)
            #expect(budget.bytes == 900_000 && budget.day == 20_000)
        }
    }

    @Test("a day that a clock a year ahead began lasts until midnight, not for a year")
    func yearAhead() {
        var budget = budget(used: 100)
        budget.advance(to: Self.noon + 365 * Self.day, signed: Self.noon)
        _ = budget.reserveHead(4096)
        #expect(budget.day == 20_365)
        // Put right: what came counts for today, and tomorrow is another day.
        budget.advance(to: Self.noon, signed: Self.noon - 3600)
        #expect(budget.day == 20_000 && budget.bytes == 4096)
        budget.advance(to: Self.noon + Self.day, signed: Self.noon)
        #expect(budget.bytes == 0)
        // The control: without a signed time nobody can say which clock was wrong.
        var blind = DailyQuota(limit: 1 << 20, day: 20_365, bytes: 5)
        blind.advance(to: Self.noon, signed: nil)
        #expect(blind.day == 20_365 && blind.bytes == 5)
    }

    @Test("heads never use more than half of a day of the batches")
    func heads() {
        var budget = budget(DailyQuota.least)
        for _ in 0..<1000 { _ = budget.reserveHead(4096) }
        #expect(budget.bytes == DailyQuota.least / 2)
        #expect(budget.share(isKept: true)?.bytes == 2 * 65_536)
        var used = self.budget(used: 900_000)
        #expect(used.reserveHead(4096) == 0 && used.bytes == 900_000)
    }

    @Test("shares are whole marks, and none is given below one")
    func marks() {
        #expect(budget().share(isKept: true)?.bytes == 1 << 20)
        #expect(budget(used: 1).share(isKept: true)?.bytes == 15 * 65_536)
        #expect(budget(used: (1 << 20) - 65_536).share(isKept: true)?.bytes == 65_536)
        #expect(budget(used: (1 << 20) - 65_535).share(isKept: true) == nil)
        #expect(budget(used: 2 << 20).share(isKept: true) == nil)
    }

    @Test("a batch of which nothing is kept is fetched whole on a fresh day, and only then")
    func whole() {
        #expect(budget().share(isKept: false)?.isWholeAllowed == true)
        #expect(budget(used: 600_000).share(isKept: false)?.isWholeAllowed == false)
        #expect(budget(used: 1 << 20).share(isKept: false) == nil)
        #expect(budget(used: 2 << 20).share(isKept: true, isSecond: true)?.isWholeAllowed == true)
        #expect(budget().share(isKept: true, isResumed: true)?.isRestartAllowed == true)
        let late = budget(used: 600_000).share(isKept: true, isResumed: true)
        #expect(late?.isRestartAllowed == false)
    }

    @Test("any order of reserving, dying and settling counts at least what came")
    func neverTooLittle() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<2000 {
            var budget = budget(Int.random(in: DailyQuota.least...(8 << 20), using: &random))
            var came = 0
            var now = Self.noon
            for _ in 0..<20 {
                let day = budget.day
                let isKept = Bool.random(using: &random)
                guard let share = budget.share(isKept: isKept) else { break }
                let reserved = budget.reserve(share, most: Self.most)
                let received = Int.random(in: 0...reserved, using: &random)
                // Counted before it comes, whatever becomes of the process.
                came += received
                #expect(budget.bytes >= came)
                now += Int64.random(in: 0...20_000, using: &random)
                if Bool.random(using: &random) {
                    budget.charge(
                        reserved: reserved, received: received, isFruitless: false, at: now,
                        signed: nil)
                    if budget.day != day { came = received }
                }
                #expect(budget.bytes >= came)
            }
        }
    }

    @Test("every batch arrives after days enough, whatever the budget and however busy the heads")
    func progress() {
        var random = SplitMix64(seed: 11)
        for _ in 0..<300 {
            let size = Int.random(in: 1...Self.most, using: &random)
            var budget = budget(Int.random(in: DailyQuota.least...(2 << 20), using: &random))
            var there = 0
            var days: Int64 = 0
            while there < size {
                budget.advance(to: Self.noon + days * Self.day, signed: nil)
                for _ in 0..<Int.random(in: 0...300, using: &random) {
                    _ = budget.reserveHead(4096)
                }
                if let share = budget.share(isKept: true, isResumed: there > 0) {
                    let reserved = budget.reserve(share, most: Self.most)
                    let received = min(share.bytes, size - there)
                    there += received
                    budget.charge(
                        reserved: reserved, received: received, isFruitless: false,
                        at: Self.noon + days * Self.day, signed: nil)
                }
                #expect(budget.bytes <= budget.limit)
                days += 1
            }
            // Half of a day at least, rounded down to marks.
            let least = budget.limit / 2 / 65_536 * 65_536
            #expect(days <= size / least + 1)
        }
    }
}
