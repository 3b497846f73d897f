private import Glibc
import TestSupport
import Testing

@testable import WakeServer

@Suite("What new registrations cost")
struct RegistrationBudgetTests {
    private static let second: UInt64 = 1_000_000_000
    private static let day: UInt64 = 86_400 * second
    /// Of the defaults: 4096 MiB, 7 to 14 days.
    private static let room = RegistrationBudget.Room(
        rows: 4096 * 256 * 5, lifeSeconds: 14 * 86_400)

    private static func budget(
        _ room: RegistrationBudget.Room = room, perDay: Int? = nil, coarseness: Int = 1
    ) -> RegistrationBudget {
        let free = perDay.map { RegistrationBudget.Free(atOnce: $0, perDay: $0) }
        return RegistrationBudget(
            room, perPrefix: 16, free: free ?? RegistrationBudget.free(room),
            coarseness: coarseness)
    }

    /// A budget that is asked within expectations.
    private final class Asked {
        private var budget: RegistrationBudget
        /// The kindest draw, unless there is a generator.
        var random: SplitMix64?

        init(_ budget: RegistrationBudget = RegistrationBudgetTests.budget()) {
            self.budget = budget
        }

        func admits(
            _ place: Int? = nil, former: Int? = nil, bits: Int? = nil, fill: Double = 0,
            at now: UInt64 = 0
        ) -> Bool {
            let places = place.map { ($0, former ?? $0) }
            let draw = random?.unit() ?? 0
            return budget.admits(
                from: .network(places), bits: bits, fill: fill, draw: draw, now: now)
        }

        func admitsOblivious(bits: Int? = nil, at now: UInt64 = 0) -> Bool {
            budget.admits(from: .oblivious, bits: bits, fill: 0, draw: 0, now: now)
        }

        func change(perPrefix: Int, perDay: Int, at now: UInt64) {
            let free = RegistrationBudget.Free(atOnce: perDay, perDay: perDay)
            budget.change(perPrefix: perPrefix, free: free, now: now)
        }

        func bits(_ fill: Double = 0, at now: UInt64 = 0) -> Int {
            budget.neededBits(fill: fill, now: now)
        }
    }

    @Test("those who come through relays have an eighth, and leave the rest to the others")
    func oblivious() {
        let asked = Asked(Self.budget(perDay: 1000))
        let now = Self.second
        #expect((0..<5000).filter { _ in asked.admitsOblivious(at: now) }.count == 125)
        #expect(asked.admitsOblivious(bits: 16, at: now))
        // All but those from everybody's thousand.
        #expect((0..<5000).filter { asked.admits($0, at: now) }.count == 875)
        // 691.2 s for one.
        #expect(!asked.admitsOblivious(at: now + 691 * Self.second))
        #expect(asked.admitsOblivious(at: now + 692 * Self.second))
    }

    @Test("other limits count what was counted before, and leak by their own rule")
    func change() {
        let asked = Asked()
        let now = 1000 * Self.second
        for _ in 0..<10 { #expect(asked.admits(1, at: now)) }
        asked.change(perPrefix: 100, perDay: 5, at: now)
        #expect(!asked.admits(2, at: now))
        asked.change(perPrefix: 12, perDay: 1_000_000, at: now)
        #expect((0..<3).map { _ in asked.admits(1, at: now) } == [true, true, false])
        // 600 s for 12: one in 50 s.
        #expect(!asked.admits(1, at: now + 49 * Self.second))
        #expect(asked.admits(1, at: now + 50 * Self.second))
    }

    @Test("sixteen of a prefix are free in ten minutes, then one in 37.5 s; others are not hurt")
    func prefix() {
        let asked = Asked()
        var now = 1000 * Self.second
        for number in 0..<40 { #expect(asked.admits(1, at: now) == (number < 16)) }
        #expect(asked.admits(2, at: now) && asked.admits(at: now))
        now += 38 * Self.second
        #expect(asked.admits(1, at: now))
        #expect(!asked.admits(1, at: now))
        now += 600 * Self.second
        #expect((0..<40).filter { _ in asked.admits(1, at: now) }.count == 16)
    }

    @Test("a key that turns forgets nothing: the former place counts as well")
    func turned() {
        let asked = Asked()
        for _ in 0..<16 { #expect(asked.admits(1)) }
        #expect(!asked.admits(7, former: 1))
        let later = Asked()
        for _ in 0..<16 { #expect(later.admits(7, former: 1)) }
        #expect(!later.admits(7))
        #expect(!later.admits(1))
    }

    @Test("a day's worth is free for all; then proofs alone count, and near the cap as well")
    func everybody() {
        let asked = Asked(Self.budget(perDay: 1000))
        let now = Self.second
        #expect((0..<5000).filter { asked.admits($0, at: now) }.count == 1000)
        #expect(asked.admits(bits: 16, at: now))
        #expect(asked.bits(at: now) == 16)
        // 86.4 s for one.
        #expect(!asked.admits(at: now + 86 * Self.second))
        #expect(asked.admits(at: now + 87 * Self.second))
        let tomorrow = now + 2 * Self.day
        #expect(!asked.admits(fill: 0.75, at: tomorrow))
        #expect(asked.bits(0.8, at: tomorrow) == 18)
        #expect(asked.admits(fill: 0.74, at: tomorrow))
    }

    @Test("a start gives no other quarter: what is stored counts as taken without work")
    func start() {
        for (fill, free) in [(0, 250), (0.1, 150), (0.24, 10), (0.25, 0), (0.7, 0), (1, 0)] {
            let room = RegistrationBudget.Room(rows: 1000, lifeSeconds: 14 * 86_400)
            var budget = Self.budget(room)
            budget.assume(fill: fill, now: Self.second)
            let asked = Asked(budget)
            let taken = (0..<1000).filter { asked.admits($0, fill: fill, at: Self.second) }.count
            #expect(taken == free, "\(fill)")
            #expect(asked.admits(bits: 23, fill: fill, at: Self.second))
            // Another quarter leaks in the life of a row: the next one within 85 minutes.
            let later = Self.second + 5100 * Self.second
            #expect(asked.admits(1, fill: fill, at: later) == (fill < 0.75))
        }
    }

    @Test("work grows by a bit with each 256th of the store, to 23, and shrinks as rows expire")
    func work() {
        let asked = Asked(Self.budget(coarseness: 16))
        asked.random = SplitMix64(seed: 4)
        var bits: [Int] = []
        let step = Self.room.rows / 256
        var refused = 0
        for number in 0..<9 * step {
            if number % step == step / 2 { bits.append(asked.bits()) }
            if !asked.admits(bits: 23) { refused += 1 }
        }
        #expect(bits == [16, 17, 18, 19, 20, 21, 22, 23, 23] && refused == 0)
        // Proofs of minutes ago, when little was asked for, are worth nothing any more.
        #expect(!asked.admits(1, bits: 20, fill: 0.75))
        #expect(asked.admits(1, bits: 21, fill: 0.75))
        var days: UInt64 = 0
        while asked.bits(at: days * Self.day) > 16 { days += 1 }
        #expect(days == 2)
    }

    /// How well a number tells the one from the other: the area under the ROC curve; 0.5 is chance.
    private static func area(_ left: [Int], _ right: [Int]) -> Double {
        let counts = Dictionary(right.map { ($0, 1) }, uniquingKeysWith: +)
        let wins = left.reduce(0.0) { sum, value in
            counts.reduce(sum) { sum, entry in
                sum + Double(entry.value) * (value > entry.key ? 1 : value == entry.key ? 0.5 : 0)
            }
        }
        return wins / Double(left.count * right.count)
    }

    /// A neighbour that fills the prefix to the brim, waits until half of it has leaked, and fills
    /// it again as fast as it can, which takes hardly any time.
    /// - Returns: its own that came in the second time.
    private static func refill(
        _ random: inout SplitMix64, another: Bool, coarseness: Int
    ) -> Int {
        var budget = budget(coarseness: coarseness)
        func asks(_ now: UInt64) -> Bool {
            budget.admits(
                from: .network((1, 1)), bits: nil, fill: 0, draw: random.unit(), now: now)
        }
        while asks(0) {}
        let later = 300 * second
        if another { #expect(asks(later - second)) }
        var own = 0
        while asks(later) { own += 1 }
        return own
    }

    @Test("a neighbour that fills its prefix cannot tell whether another one registered there")
    func neighbour() {
        var random = SplitMix64(seed: 9)
        for (coarseness, areas) in [(1, 0.99...1), (16, 0.4...0.6)] as [(Int, ClosedRange<Double>)]
        {
            let with = (0..<4000).map { _ in
                Self.refill(&random, another: true, coarseness: coarseness)
            }
            let without = (0..<4000).map { _ in
                Self.refill(&random, another: false, coarseness: coarseness)
            }
            let area = Self.area(without, with)
            #expect(areas.contains(area), "\(coarseness): \(area)")
            // On average as many are free as without grains.
            let mean = Double(without.reduce(0, +)) / 4000
            #expect(abs(mean - 8) < 0.5, "\(mean)")
        }
    }

    @Test("what is asked for shows one row with a proof in four at most, in the smallest store")
    func coarse() {
        var random = SplitMix64(seed: 11)
        var shown = 0
        for _ in 0..<1000 {
            var budget = Self.budget(
                RegistrationBudget.Room(rows: 1000, lifeSeconds: 86_400), coarseness: 16)
            // Just below the next bit, as far as anybody can bring it.
            for _ in 0..<64 * 3 {
                _ = budget.admits(
                    from: .network(nil), bits: 23, fill: 0, draw: random.unit(), now: 0)
            }
            let before = budget.neededBits(fill: 0, now: 0)
            _ = budget.admits(from: .network(nil), bits: 23, fill: 0, draw: random.unit(), now: 0)
            if budget.neededBits(fill: 0, now: 0) > before { shown += 1 }
        }
        #expect(shown < 60, "\(shown)")
    }

    /// A flood and honest newcomers over three rotations of seven days, in steps of a minute.
    private struct Flood {
        var budget: RegistrationBudget
        let room: RegistrationBudget.Room
        /// Hashes a second of the flood, and its prefixes.
        let hashes: Double
        let prefixes: Int
        var random: SplitMix64
        /// Rubbish by generation: written in the current one, never renewed.
        var rubbish = [0, 0]
        var sent = 0
        var most = 0
        /// Hashes of each honest newcomer.
        var costs: [Double] = []
        private var worked = 0.0

        init(hashes: Double, prefixes: Int, seed: UInt64, room: RegistrationBudget.Room) {
            budget = RegistrationBudgetTests.budget(room, coarseness: 16)
            self.room = room
            self.hashes = hashes
            self.prefixes = prefixes
            random = SplitMix64(seed: seed)
        }

        private var fill: Double { Double(rubbish[0] + rubbish[1]) / Double(room.rows) }

        mutating func run() {
            for step in 0..<3 * 7 * 1440 {
                let now = UInt64(step * 60) * RegistrationBudgetTests.second
                if step > 0, step % (7 * 1440) == 0 { rubbish = [0, rubbish[0]] }
                flood(now)
                if step % 721 == 720 { newcomer(now) }
                most = max(most, rubbish[0] + rubbish[1])
            }
        }

        private mutating func flood(_ now: UInt64) {
            // As fast as it may without work; what is refused is tried again in the next step.
            var refusals = 0
            while refusals < 40, fill < 1 {
                let place = Int(random.next() % UInt64(prefixes))
                sent += 1
                let isTaken = budget.admits(
                    from: .network((place, place)), bits: nil, fill: fill, draw: random.unit(),
                    now: now)
                if isTaken { rubbish[0] += 1 } else { refusals += 1 }
            }
            worked += hashes * 60
            while fill < 1 {
                let bits = budget.neededBits(fill: fill, now: now) - RegistrationBudget.slack
                let cost = Double(1 << bits)
                guard worked >= cost else { break }
                worked -= cost
                sent += 1
                if budget.admits(
                    from: .network(nil), bits: bits, fill: fill, draw: random.unit(), now: now)
                {
                    rubbish[0] += 1
                }
            }
        }

        private mutating func newcomer(_ now: UInt64) {
            let place = prefixes + Int(random.next() % 1000)
            guard fill < 1 else { return costs.append(.infinity) }
            let origin = RegistrationBudget.Origin.network((place, place))
            if budget.admits(from: origin, bits: nil, fill: fill, draw: random.unit(), now: now) {
                return costs.append(0)
            }
            let bits = budget.neededBits(fill: fill, now: now)
            let isTaken = budget.admits(
                from: origin, bits: bits, fill: fill, draw: random.unit(), now: now)
            #expect(isTaken)
            // Nonces until the first that fits are distributed so.
            costs.append(-Double(1 << bits) * log(1 - random.unit()))
        }
    }

    @Test(
        "a million over three rotations keep nobody out for a minute, nor fill the store",
        arguments: [(0, 60_000), (4e6, 64)])
    func flood(_ hashes: Double, _ prefixes: Int) {
        var flood = Flood(hashes: hashes, prefixes: prefixes, seed: 1, room: Self.room)
        flood.run()
        #expect(flood.sent > 1_000_000)
        #expect(flood.most < Self.room.rows * 17 / 20)
        // A phone computes a million hashes a second.
        #expect(flood.costs.count > 40 && flood.costs.allSatisfy { $0 < 60e6 })
    }
}
