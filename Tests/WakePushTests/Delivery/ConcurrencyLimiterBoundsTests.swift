import TestSupport
import Testing

@testable import WakePush

@Suite("The bounds of the concurrency limiter")
struct ConcurrencyLimiterBoundsTests {
    /// A push service so many milliseconds away that takes so many streams at once, and answers at
    /// most so many a millisecond; always more is waiting.
    private func settled(
        most: Int, latency: Double, streams: Int, perMillisecond: Double, seconds: Int
    ) -> (size: Int, sizes: Set<Int>) {
        var limiter = ConcurrencyLimiter(most: most)
        var sizes: Set<Int> = []
        var (now, owed) = (0.0, 0.0)
        while now < Double(seconds) * 1000 {
            now += 10
            limiter.fill()
            let inFlight = Double(min(limiter.size, streams))
            owed += min(inFlight / latency, perMillisecond) * 10
            limiter.complete(Int(owed), now: UInt64(now))
            owed -= owed.rounded(.down)
            sizes.insert(limiter.size)
        }
        return (limiter.size, sizes)
    }

    @Test("it begins small, whatever is allowed", arguments: [1, 63, 64, 65, 128_000])
    func beginning(_ most: Int) {
        #expect(ConcurrencyLimiter(most: most).size == min(64, most))
    }

    @Test("a push service far away gets as many as it takes streams")
    func far() {
        let (_, sizes) = settled(
            most: 2000, latency: 50, streams: 1000, perMillisecond: 1000, seconds: 10)
        #expect(sizes.contains { $0 >= 1000 } && sizes.max() ?? 0 <= 2000)
    }

    @Test("a push service that is busy does not get more for being asked for more")
    func busy() {
        // 128 in flight fill it: more would only wait.
        let (size, sizes) = settled(
            most: 128_000, latency: 10, streams: 1_000_000, perMillisecond: 12.8, seconds: 60)
        #expect(size <= 512 && sizes.max() ?? 0 <= 512)
        #expect(sizes.contains(128))
    }

    @Test("as long as nothing has to wait it stays as it is")
    func unfilled() {
        var limiter = ConcurrencyLimiter(most: 2000)
        for step in 0..<1000 as Range<UInt64> { limiter.complete(1000, now: step * 100) }
        #expect(limiter.size == 64)
    }

    @Test("it never leaves its bounds, whatever comes", arguments: 0..<20)
    func bounds(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let most = Int.random(in: 1...5000, using: &generator)
        var limiter = ConcurrencyLimiter(most: most)
        var now: UInt64 = 0
        for _ in 0..<2000 {
            now += UInt64.random(in: 0...300, using: &generator)
            if Bool.random(using: &generator) { limiter.fill() }
            limiter.complete(Int.random(in: 0...10_000, using: &generator), now: now)
            #expect(limiter.size >= min(64, most) && limiter.size <= most)
        }
    }
}
