import Testing
import WakeSystem

@Suite("The token bucket")
struct TokenBucketTests {
    private static let second: UInt64 = 1_000_000_000

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
