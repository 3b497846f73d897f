import Testing

@testable import WakePush

@Suite("How many wake-ups are with the engine")
struct RoundWindowTests {
    /// A push service so many milliseconds away that takes so many streams at once, and answers at
    /// most so many a millisecond; always more is waiting.
    private func settled(
        most: Int, latency: Double, streams: Int, perMillisecond: Double, seconds: Int
    ) -> (size: Int, sizes: Set<Int>) {
        var window = FlowWindow(most: most)
        var sizes: Set<Int> = []
        var (now, owed) = (0.0, 0.0)
        while now < Double(seconds) * 1000 {
            now += 10
            window.filled()
            let inFlight = Double(min(window.size, streams))
            owed += min(inFlight / latency, perMillisecond) * 10
            window.landed(Int(owed), now: UInt64(now))
            owed -= owed.rounded(.down)
            sizes.insert(window.size)
        }
        return (window.size, sizes)
    }

    @Test("it begins small, whatever is allowed", arguments: [1, 63, 64, 65, 128_000])
    func beginning(_ most: Int) {
        #expect(FlowWindow(most: most).size == min(64, most))
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
        var window = FlowWindow(most: 2000)
        for step in 0..<1000 as Range<UInt64> { window.landed(1000, now: step * 100) }
        #expect(window.size == 64)
    }

    @Test("it never leaves its bounds, whatever comes", arguments: 0..<20)
    func bounds(_ seed: UInt64) {
        var generator = RoundGenerator(seed)
        let most = Int.random(in: 1...5000, using: &generator)
        var window = FlowWindow(most: most)
        var now: UInt64 = 0
        for _ in 0..<2000 {
            now += UInt64.random(in: 0...300, using: &generator)
            if Bool.random(using: &generator) { window.filled() }
            window.landed(Int.random(in: 0...10_000, using: &generator), now: now)
            #expect(window.size >= min(64, most) && window.size <= most)
        }
    }
}
