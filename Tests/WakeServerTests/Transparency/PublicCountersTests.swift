import Foundation
import TestSupport
import Testing
import WakeModel

@testable import WakeServer

@Suite("What the public is told, and when")
struct PublicCountersTests {
    /// What a service tells that has rotated and then counted so many rows, and what it tells
    /// after each broadcast that follows in the same generation.
    private func told(_ counts: [Int], seed: UInt64) -> [[UInt8]] {
        var random = SplitMix64(seed: seed)
        var schedule = Self.rotated()
        return counts.enumerated().map { broadcast, rows in
            schedule.tell(rows: rows, using: &random)
            return PublicCounters(
                registrations: schedule.record.told, broadcasts: broadcast + 1
            ).encode()
        }
    }

    private static func rotated() -> RotationSchedule {
        var schedule = RotationSchedule(interval: 604_800, record: nil, generation: 1)
        schedule.rotated(to: 2)
        return schedule
    }

    @Test("a store that began empty is not counted before its first rotation, restarted or not")
    func first() throws {
        var random = SplitMix64(seed: 5)
        // Of keys in a file, in memory, and where the record was lost.
        for generation in [1, 1 << 40, 7] as [UInt64] {
            let former = generation == 7 ? nil : RotationRecord(generation: 1 << 35)
            var schedule = RotationSchedule(
                interval: 604_800, record: former, generation: generation)
            for rows in [3, 5_000] {
                schedule.tell(rows: rows, using: &random)
                #expect(schedule.record.told == nil)
                if generation == 1 {
                    schedule = RotationSchedule(
                        interval: 604_800, record: schedule.record, generation: 1)
                }
            }
            schedule.rotated(to: generation + 1)
            #expect(schedule.record.told == nil)
            schedule.tell(rows: 5_000, using: &random)
            #expect(abs((schedule.record.told ?? 0) - 5_000) < 300)
        }
    }

    @Test("before the first broadcast no number of registrations is told, and that is said")
    func before() {
        #expect(
            String(decoding: PublicCounters().encode(), as: UTF8.self)
                == #"{"registrations":null,"broadcasts":0,"noise_scale":10}"# + "\n")
    }

    @Test("the noise is what is promised: e^0.1 a row, whatever is told")
    func noise() {
        let draws = 400_000
        var random = SplitMix64(seed: 9)
        var seen: [Int: Int] = [:]
        for _ in 0..<draws { seen[CountNoise.draw(using: &random), default: 0] += 1 }
        let base = exp(-1 / Double(CountNoise.scale))
        for noise in -60...60 {
            let share = (1 - base) / (1 + base) * pow(base, Double(abs(noise)))
            let expected = share * Double(draws)
            let difference = abs(Double(seen[noise] ?? 0) - expected)
            #expect(difference <= 5 * expected.squareRoot() + 1, "\(noise)")
            // The exact odds: a row more moves the noise by one.
            let next = (1 - base) / (1 + base) * pow(base, Double(abs(noise + 1)))
            #expect(abs(log(share / next)) <= 0.1 + 1e-9)
        }
    }

    /// How much better than by guessing a reader of everything that is told in a generation tells
    /// one world from the other: half of the sum of the differences of the odds.
    private func advantage(_ worlds: [[Int]], trials: Int) -> Double {
        var odds: [[[UInt8]]: Int] = [:]
        for seed in 0..<UInt64(trials) {
            // Seeds are of one world alone: the service has no others to be compared with.
            odds[told(worlds[0], seed: seed), default: 0] += 1
            odds[told(worlds[1], seed: seed + UInt64(trials)), default: 0] -= 1
        }
        return odds.values.reduce(0) { $0 + abs(Double($1)) } / Double(2 * trials)
    }

    @Test("the game: one person left or did not, and all that is told in a generation does not say")
    func game() {
        // Exact counts at a five, which plain rounding gives away, at an edge, and at nobody else.
        for exact in [5, 995, 20, 1] {
            // Read before the person has left, after that, and once more.
            let stayed = [exact, exact, exact]
            let left = [exact, exact - 1, exact - 1]
            // One that leaves after the generation was counted changes nothing at all.
            for seed in 0..<120 as Range<UInt64> {
                #expect(told(stayed, seed: seed) == told(left, seed: seed))
            }
            // One that has left before it: a tenth at most, even when the row was read twice, and
            // 0.04 that chance adds to 10,000 trials of about a hundred outcomes.
            for rows in [1, 2] where exact >= rows {
                let worlds = [[exact], [exact - rows]]
                let bound = tanh(0.05 * Double(rows)) + 0.06
                #expect(advantage(worlds, trials: 10_000) <= bound, "\(exact) \(rows)")
            }
        }
    }

    @Test("the control: counts in the clear, or drawn anew, lose the game")
    func control() {
        #expect(
            PublicCounters(registrations: 995).encode()
                != PublicCounters(registrations: 994).encode())
        // Averages over draws for each broadcast would tell a row from none.
        var random = SplitMix64(seed: 11)
        let average = (0..<4_000).reduce(0.0) { sum, _ in
            sum + Double(995 + CountNoise.draw(using: &random)) / 4_000
        }
        #expect(abs(average - 995) < 2)
    }

    @Test("a generation draws once, whatever is counted again, read again or restarted")
    func once() throws {
        for seed in 0..<50 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var schedule = Self.rotated()
            schedule.tell(rows: 500, using: &random)
            let first = schedule.record.told
            for rows in [499, 0, 10_000] {
                schedule.tell(rows: rows, using: &random)
                schedule = RotationSchedule(
                    interval: 604_800,
                    record: try RotationRecord(stateFile: schedule.record.stateFile()),
                    generation: 2)
            }
            #expect(schedule.record.told == first)
            // The next generation shows the last one's number until its own is drawn.
            schedule.rotated(to: 3)
            #expect(schedule.record.told == first)
            schedule.tell(rows: 900, using: &random)
            #expect(abs((schedule.record.told ?? 0) - 900) < 300)
            let second = schedule.record.told
            // A crash between the change of keys and the record draws no second one either.
            let crashed = RotationSchedule(
                interval: 604_800, record: schedule.record, generation: 4)
            #expect(crashed.record.told == second)
            // Another store's number is not this one's.
            let other = RotationSchedule(
                interval: 604_800, record: schedule.record, generation: 77)
            #expect(other.record.told == nil)
        }
    }

    @Test("no number is told that is less than none, or that no record takes")
    func bounds() throws {
        for (seed, rows) in zip(0..<200 as Range<UInt64>, [0, 3, .max, 1 << 53].cycled) {
            var random = SplitMix64(seed: seed)
            var schedule = Self.rotated()
            schedule.tell(rows: rows, using: &random)
            #expect((schedule.record.told ?? -1) >= 0)
            let bytes = schedule.record.stateFile()
            #expect(try RotationRecord(stateFile: bytes) == schedule.record)
        }
    }
}

extension Array {
    /// Its elements over and over.
    fileprivate var cycled: some Sequence<Element> {
        sequence(state: 0) { place in
            defer { place += 1 }
            return self[place % count]
        }
    }
}
