import Testing
import WakeSystem

@Suite("Back-off")
struct BackoffTests {
    @Test("the bound doubles up to its ceiling and starts again after a success")
    func doubling() {
        var backoff = Backoff(base: .seconds(2), ceiling: .seconds(9))
        #expect(backoff.wait(random: 0.5) == .zero)
        #expect(
            [0.5, 0.5, 0.5, 0.5].map { backoff.fail(random: $0) }
                == [.seconds(1), .seconds(2), .seconds(4), .seconds(4.5)])
        backoff.succeed()
        #expect(backoff.fail(random: 0.5) == .seconds(1))
    }

    @Test("a stretched wait is never shorter than the bound, and a floor holds")
    func stretched() {
        var backoff = Backoff(base: .seconds(2), ceiling: .seconds(64), jitter: .stretch)
        #expect(backoff.fail(random: 0) == .seconds(2))
        #expect(backoff.fail(random: 0.5) == .seconds(5))
        #expect(backoff.fail(random: 0, floor: .seconds(60)) == .seconds(60))
    }
}
