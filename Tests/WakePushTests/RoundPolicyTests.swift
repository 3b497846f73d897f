import Testing

@testable import WakePush

@Suite("How often a wake-up is tried, and when")
struct RoundRetryPolicyTests {
    private func delay(
        _ spent: Int, isUnseen: Bool = false, retryAfter: Int = 0, chance: Double = 0
    ) -> UInt64? {
        RetryPolicy.delay(
            spent: spent, isUnseen: isUnseen, retryAfter: retryAfter, chance: chance)
    }

    @Test("a seen wake-up is tried ten times, half a second later and doubled up to thirty")
    func doubling() {
        var (spent, waits) = (0, [UInt64?]())
        for _ in 0..<10 {
            spent += RetryPolicy.cost(isUnseen: false)
            waits.append(delay(spent))
        }
        #expect(
            waits == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, nil])
    }

    @Test("an unseen one is tried a hundred times, at once: the engine waits before it connects")
    func unseen() {
        var (spent, tries) = (0, 0)
        while true {
            spent += RetryPolicy.cost(isUnseen: true)
            tries += 1
            guard let wait = delay(spent, isUnseen: true, chance: 1) else { break }
            #expect(wait == 0)
        }
        #expect(tries == 100)
    }

    @Test("unseen attempts before a seen one do not make it wait longer")
    func mixed() {
        #expect(delay(10 + 5) == 500)
        #expect(delay(10 + 9) == 500)
        #expect(delay(99) != nil && delay(100) == nil && delay(109) == nil)
    }

    @Test("what the push service asks for is waited at least, up to ten minutes, then given up")
    func retryAfter() {
        #expect(delay(10, retryAfter: 3) == 3000)
        #expect(delay(40, retryAfter: 3) == 4000)
        #expect(delay(10, retryAfter: 600) == 600_000)
        #expect(delay(10, retryAfter: 601) == nil)
        #expect(delay(10, retryAfter: Int(UInt32.max)) == nil)
    }

    @Test("chance stretches a wait by up to a half and never shortens it")
    func jitter() throws {
        var generator = RoundGenerator(1)
        for spent in stride(from: 10, to: 100, by: 10) {
            for after in [0, 5, 600] {
                let least = try #require(delay(spent, retryAfter: after))
                #expect(delay(spent, retryAfter: after, chance: 1) == least + least / 2)
                for _ in 0..<50 {
                    let chance = Double.random(in: 0...1, using: &generator)
                    let wait = try #require(delay(spent, retryAfter: after, chance: chance))
                    #expect((least...least + least / 2).contains(wait))
                }
            }
        }
    }
}

@Suite("A push service that pushes back")
struct RoundPushbackTests {
    /// Refused so often that a pause begins.
    private func paused(_ pushback: inout Pushback, at now: UInt64, chance: Double = 0) {
        for _ in 0..<Pushback.limit { pushback.refused(now: now, chance: chance) }
    }

    @Test("63 refusals in a row are no reason to pause, the 64th is")
    func limit() {
        var pushback = Pushback()
        for _ in 0..<63 { pushback.refused(now: 1000, chance: 0) }
        #expect(pushback.allowance(now: 1000) == nil)
        pushback.refused(now: 1000, chance: 0)
        #expect(pushback.allowance(now: 1000) == 0)
        #expect(pushback.allowance(now: 1999) == 0)
        #expect(pushback.allowance(now: 2000) == 64)
    }

    @Test("one accepted wake-up begins the count anew and lifts every limit")
    func worked() {
        var pushback = Pushback()
        for _ in 0..<63 { pushback.refused(now: 0, chance: 0) }
        pushback.worked()
        for _ in 0..<63 { pushback.refused(now: 0, chance: 0) }
        #expect(pushback.allowance(now: 0) == nil)
        pushback.refused(now: 0, chance: 0)
        #expect(pushback.allowance(now: 0) == 0)
        pushback.worked()
        #expect(pushback.allowance(now: 0) == nil)
        #expect(!pushback.isHopeless(now: UInt64.max))
    }

    @Test("pauses double up to a minute, and jitter adds up to a half")
    func doubling() {
        var pushback = Pushback()
        var now: UInt64 = 0
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60] as [UInt64] {
            paused(&pushback, at: now)
            #expect(pushback.allowance(now: now + seconds * 1000 - 1) == 0)
            now += seconds * 1000
            #expect(pushback.allowance(now: now) == 64)
        }
        var stretched = Pushback()
        paused(&stretched, at: 0, chance: 1)
        #expect(stretched.allowance(now: 1499) == 0 && stretched.allowance(now: 1500) == 64)
    }

    @Test("what was in flight when a pause began does not make it longer")
    func inFlight() {
        var pushback = Pushback()
        paused(&pushback, at: 0)
        for _ in 0..<1000 { pushback.refused(now: 500, chance: 1) }
        #expect(pushback.allowance(now: 999) == 0)
        #expect(pushback.allowance(now: 1000) == 64)
    }

    @Test("after five minutes without one accepted wake-up there is no hope, and not before")
    func hopeless() {
        var pushback = Pushback()
        paused(&pushback, at: 7000)
        #expect(!pushback.isHopeless(now: 7000 + Pushback.patience - 1))
        #expect(pushback.isHopeless(now: 7000 + Pushback.patience))
    }

    @Test("wake-ups that come back unseen for five minutes are hopeless too, but only many")
    func unseen() {
        var pushback = Pushback()
        for _ in 0..<63 { pushback.returned(now: 0) }
        #expect(!pushback.isHopeless(now: 2 * Pushback.patience))
        pushback.returned(now: 1000)
        #expect(pushback.isHopeless(now: Pushback.patience))
        // The engine waits before it connects: nothing else is held back.
        #expect(pushback.allowance(now: 1000) == nil)
    }

    @Test("a few refusals are never hopeless, however long ago")
    func few() {
        var pushback = Pushback()
        for _ in 0..<63 { pushback.refused(now: 0, chance: 0) }
        #expect(!pushback.isHopeless(now: 100 * Pushback.patience))
    }
}
