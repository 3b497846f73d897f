import Testing
import WakeSystem

@Suite("The token bucket")
struct TokenBucketTests {
    private static let second: UInt64 = 1_000_000_000

    @Test("nanoseconds are exact also after years, and a token earned by then is there")
    func nanoseconds() {
        let time = Duration(
            secondsComponent: 200_000_000, attosecondsComponent: 123_456_789_999_999_999)
        #expect(time.wholeNanoseconds == 200_000_000_123_456_789)
        #expect(Duration.seconds(-1).wholeNanoseconds == 0)
        #expect((Duration.zero - .nanoseconds(1)).wholeNanoseconds == 0)
        var bucket = TokenBucket(tokens: 30, per: .seconds(3600), burst: 1, isFull: true)
        var now = time
        for _ in 0..<1000 {
            #expect(bucket.take(upTo: 1, now: now.wholeNanoseconds) == 1)
            now = .nanoseconds(now.wholeNanoseconds + bucket.wait(now: now.wholeNanoseconds))
        }
    }

    @Test("tokens come evenly, up to the burst; a clock that goes back gives nothing")
    func bucket() {
        var bucket = TokenBucket(tokens: 2, per: .seconds(1), burst: 3, isFull: true)
        #expect(bucket.take(upTo: 5, now: 0) == 3)
        #expect(bucket.take(upTo: 5, now: Self.second / 2 - 1) == 0)
        #expect(bucket.wait(now: Self.second / 2 - 1) == 1)
        #expect(bucket.take(upTo: 5, now: Self.second / 2) == 1)
        #expect(bucket.take(upTo: 5, now: 0) == 0)
        #expect(bucket.take(upTo: 5, now: 1000 * Self.second) == 3)
        #expect(bucket.take(2, now: 1000 * Self.second) == Self.second)
        #expect(bucket.take(2, now: 1001 * Self.second) == nil)
    }
}
