import Testing

@testable import WakePush

/// The window against push services of different distance, a millisecond or less at a time.
@Suite("The concurrency limiter finds its size")
struct ConcurrencyLimiterTests {
    /// A push service that answers each wake-up a round trip after it left, and no more than
    /// `capacity` a second; more than fits always waits.
    private struct Far {
        /// Milliseconds.
        let roundTrip: Double
        let streams: Int
        let capacity: Double

        var limiter: ConcurrencyLimiter
        private(set) var sizes: Set<Int> = []
        private var now = 0.0
        private var inFlight = 0
        /// When answers come, in order: moment and count.
        private var answers: [(due: Double, count: Int)] = []
        private var next = 0
        /// Until when the service is busy.
        private var busy = 0.0

        init(roundTrip: Double, streams: Int, capacity: Double, most: Int) {
            self.roundTrip = roundTrip
            self.streams = streams
            self.capacity = capacity
            limiter = ConcurrencyLimiter(most: most)
        }

        /// - Returns: answers in these seconds.
        mutating func run(seconds: Double) -> Int {
            let end = now + seconds * 1000
            let step = min(1, roundTrip / 2)
            var landed = 0
            while now < end {
                now += step
                var came = 0
                while next < answers.count, answers[next].due <= now {
                    came += answers[next].count
                    next += 1
                }
                if came > 0 {
                    inFlight -= came
                    landed += came
                    limiter.complete(came, now: UInt64(now))
                }
                limiter.fill()
                let count = min(limiter.size, streams) - inFlight
                if count > 0 {
                    // One after the other at the service, then half a round trip back.
                    for part in stride(from: 0, to: count, by: 8) {
                        let part = min(8, count - part)
                        busy = max(now + roundTrip / 2, busy) + Double(part) * 1000 / capacity
                        answers.append((busy + roundTrip / 2, part))
                    }
                    inFlight += count
                }
                sizes.insert(limiter.size)
            }
            return landed
        }
    }

    @Test(
        "within seconds it carries 95 % of what streams and distance allow",
        arguments: [
            (50.0, 1000, 5.0), (50.0, 10_000, 5.0), (500.0, 1000, 20.0), (500.0, 10_000, 20.0),
        ])
    func far(_ roundTrip: Double, _ streams: Int, _ warmUp: Double) {
        var far = Far(
            roundTrip: roundTrip, streams: streams, capacity: 1e9, most: 2 * streams)
        _ = far.run(seconds: warmUp)
        let landed = far.run(seconds: 20)
        let possible = Double(streams) / roundTrip * 1000 * 20
        #expect(Double(landed) >= 0.95 * possible, "\(landed) of \(Int(possible)), \(far.sizes)")
        #expect(far.sizes.allSatisfy { (64...2 * streams).contains($0) })
    }

    @Test("near a push service it stays small, and keeps it busy all the same")
    func near() {
        // 200,000 a second at 0.2 ms: 40 on their way would do, 200 are answered in 1 ms, and twice
        // as many are tried.
        var near = Far(roundTrip: 0.2, streams: 1000, capacity: 200_000, most: 2000)
        _ = near.run(seconds: 3)
        let landed = near.run(seconds: 20)
        #expect(Double(landed) >= 0.95 * 200_000 * 20, "\(landed)")
        #expect(near.sizes.allSatisfy { (64...400).contains($0) }, "\(near.sizes)")
    }

    @Test(
        "a push service that is slow, not far, is not given more than it can take",
        arguments: [1000.0, 10_000.0])
    func slow(_ capacity: Double) {
        var slow = Far(roundTrip: 50, streams: 10_000, capacity: capacity, most: 20_000)
        _ = slow.run(seconds: 5)
        let landed = slow.run(seconds: 20)
        #expect(Double(landed) >= 0.95 * capacity * 20, "\(landed)")
        // What is on its way, and twice over while it is tried whether more would help.
        let needed = Int(capacity * 0.05)
        #expect(slow.sizes.allSatisfy { $0 <= max(256, 5 * needed) }, "\(slow.sizes)")
    }
}
