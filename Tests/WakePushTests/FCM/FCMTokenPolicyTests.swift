import TestSupport
import Testing
import WakeModel

@testable import WakePush

@Suite("When an access token is used, exchanged, or waited for")
struct FCMTokenPolicyTests {
    typealias Decision = FCMTokenPolicy.Decision

    private static let use = Decision(use: .token, beginsExchange: false)
    private static let useAndExchange = Decision(use: .token, beginsExchange: true)
    private static let exchange = Decision(use: .wait(seconds: 1), beginsExchange: true)

    private static func wait(_ seconds: Int) -> Decision {
        Decision(use: .wait(seconds: seconds), beginsExchange: false)
    }

    private static func failure(_ fault: FCMFault) -> Decision {
        Decision(use: .failure(.misconfigured(.fcm(fault))), beginsExchange: false)
    }

    /// With a token asked for and obtained at 1000, good for an hour.
    private static func holding() -> FCMTokenPolicy {
        var policy = FCMTokenPolicy()
        _ = policy.decide(1000)
        policy.obtained(asked: 1000, lifetime: 3600, now: 1000)
        return policy
    }

    @Test("the first question begins an exchange, and others wait for that one")
    func first() {
        var policy = FCMTokenPolicy()
        #expect(policy.decide(1000) == Self.exchange)
        #expect(policy.decide(1000) == Self.wait(1))
        #expect(policy.decide(1029) == Self.wait(1))
        policy.obtained(asked: 1000, lifetime: 3600, now: 1030)
        #expect(policy.decide(1030) == Self.use)
    }

    @Test("it is replaced five minutes before its end, once, and used meanwhile")
    func refresh() {
        var policy = Self.holding()
        #expect(policy.decide(4299) == Self.use)
        #expect(policy.decide(4300) == Self.useAndExchange)
        #expect(policy.decide(4301) == Self.use)
        #expect(policy.decide(4569) == Self.use)
        #expect(policy.decide(4570) == Self.wait(1))
        policy.obtained(asked: 4300, lifetime: 3600, now: 4580)
        #expect(policy.decide(4580) == Self.use)
        #expect(policy.decide(7600) == Self.useAndExchange)
    }

    @Test("one that is short-lived is replaced at half its time, and never more often than that")
    func shortLived() {
        var policy = FCMTokenPolicy()
        #expect(policy.decide(0) == Self.exchange)
        policy.obtained(asked: 0, lifetime: 100, now: 1)
        #expect(policy.decide(49) == Self.use)
        #expect(policy.decide(50) == Self.useAndExchange)
        policy.obtained(asked: 50, lifetime: 1, now: 50)
        #expect(policy.decide(51) == Self.wait(9))
        #expect(policy.decide(60) == Self.exchange)
    }

    @Test("a failed exchange is tried again after 1, 2, 4 … 60 seconds")
    func backoff() {
        var policy = FCMTokenPolicy()
        var now = 1000
        for wait in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            #expect(policy.decide(now) == Self.exchange)
            policy.failed(retryAfter: 0, now: now, jitter: 0)
            #expect(policy.decide(now) == Self.wait(wait))
            now += wait
        }
    }

    @Test("jitter stretches the wait by up to a half, and a longer wish of the far end counts")
    func jitter() {
        var policy = FCMTokenPolicy()
        for _ in 0..<3 {
            policy.failed(retryAfter: 0, now: 1000, jitter: 0.999)
        }
        #expect(policy.decide(1000) == Self.wait(5))
        policy.failed(retryAfter: 120, now: 1006, jitter: 0.999)
        #expect(policy.decide(1006) == Self.wait(120))
        #expect(policy.decide(1125) == Self.wait(1))
        #expect(policy.decide(1126) == Self.exchange)
    }

    @Test("a wish for years is no longer than the patience")
    func longWish() {
        var policy = FCMTokenPolicy()
        _ = policy.decide(1000)
        policy.failed(retryAfter: Int(Int32.max), now: 1000, jitter: 0)
        #expect(policy.decide(1001) == Self.wait(299))
        #expect(policy.decide(1500) == Self.exchange)
    }

    @Test("after five minutes without a token the round is given up, and the next starts anew")
    func patience() {
        var policy = FCMTokenPolicy()
        var now = 1000
        var last = Self.exchange
        while now < 1300 {
            last = policy.decide(now)
            if last.beginsExchange { policy.failed(retryAfter: 0, now: now, jitter: 0) }
            now += 1
        }
        #expect(last.use != .failure(.unavailable(.noAccessToken, .fcm)))
        #expect(
            policy.decide(1300)
                == Decision(
                    use: .failure(.unavailable(.noAccessToken, .fcm)), beginsExchange: false))
        #expect(policy.decide(8500) == Self.exchange)
        policy.failed(retryAfter: 0, now: 8500, jitter: 0)
        #expect(policy.decide(8500) == Self.wait(1))
    }

    @Test("failures of an earlier round do not shorten the patience of a later one")
    func laterRound() {
        var policy = FCMTokenPolicy()
        _ = policy.decide(1000)
        policy.failed(retryAfter: 0, now: 1000, jitter: 0)
        // Two hours later; the round before ended meanwhile.
        #expect(policy.decide(8200) == Self.exchange)
        policy.failed(retryAfter: 0, now: 8200, jitter: 0)
        #expect(policy.decide(8200) == Self.wait(1))
    }

    @Test("a refresh that fails leaves the token in use, and is tried again before its end")
    func refreshFails() {
        var policy = Self.holding()
        #expect(policy.decide(4300) == Self.useAndExchange)
        policy.failed(retryAfter: 0, now: 4300, jitter: 0)
        #expect(policy.decide(4300) == Self.use)
        #expect(policy.decide(4301) == Self.useAndExchange)
        policy.refused(.grantRefused, now: 4302)
        #expect(policy.decide(4361) == Self.use)
        #expect(policy.decide(4362) == Self.useAndExchange)
        policy.refused(.grantRefused, now: 4563)
        #expect(policy.decide(4569) == Self.use)
        #expect(policy.decide(4570) == Self.failure(.grantRefused))
    }

    @Test("a refused exchange is the gateway's fault, and is not repeated for a minute")
    func refused() {
        var policy = FCMTokenPolicy()
        _ = policy.decide(1000)
        policy.refused(.grantRefused, now: 1001)
        #expect(policy.decide(1001) == Self.failure(.grantRefused))
        #expect(policy.decide(1060) == Self.failure(.grantRefused))
        #expect(policy.decide(1061) == Self.exchange)
        #expect(policy.decide(1062) == Self.wait(1))
        policy.obtained(asked: 1061, lifetime: 3600, now: 1062)
        #expect(policy.decide(1062) == Self.use)
    }

    @Test("a token that has worked and is refused is replaced once, at most once a minute")
    func unauthorised() throws {
        var policy = Self.holding()
        policy.worked()
        try policy.unauthorised(now: 1020)
        try policy.unauthorised(now: 1021)
        #expect(policy.decide(1021) == Self.wait(39))
        #expect(policy.decide(1060) == Self.exchange)
        policy.obtained(asked: 1060, lifetime: 3600, now: 1061)
        #expect(policy.decide(1061) == Self.use)
        #expect(throws: GatewayFailure.misconfigured(.fcm(.tokenRefused))) {
            try policy.unauthorised(now: 1062)
        }
    }

    @Test("a token that has never worked and is refused is the gateway's fault, and forgotten")
    func neverWorked() {
        var policy = Self.holding()
        #expect(throws: GatewayFailure.misconfigured(.fcm(.tokenRefused))) {
            try policy.unauthorised(now: 1001)
        }
        #expect(policy.decide(1002) == Self.wait(9))
        #expect(policy.decide(8000) == Self.exchange)
    }

    @Test("whatever happens, no token is used beyond its end and no two exchanges run at once")
    func anyOrder() {
        for seed in 0..<300 as Range<UInt64> {
            var generator = SplitMix64(seed: seed)
            var policy = FCMTokenPolicy()
            var now = 0
            var end: Int?
            var asked: Int?
            var begun: [Int] = []
            for _ in 0..<400 {
                now += Int.random(in: 0...90, using: &generator)
                switch Int.random(in: 0..<8, using: &generator) {
                case 0..<4:
                    let decision = policy.decide(now)
                    if decision.use == .token { #expect(now < end ?? 0) }
                    guard decision.beginsExchange else { break }
                    #expect(asked == nil)
                    asked = now
                    begun.append(now)
                case 4:
                    guard let start = asked else { break }
                    let lifetime = Int.random(in: 60...4000, using: &generator)
                    policy.obtained(asked: start, lifetime: lifetime, now: now)
                    end = start + lifetime - FCMTokenPolicy.margin
                    asked = nil
                case 5:
                    guard asked != nil else { break }
                    policy.failed(
                        retryAfter: 0, now: now, jitter: .random(in: 0..<1, using: &generator))
                    asked = nil
                case 6:
                    guard asked != nil else { break }
                    policy.refused(.grantRefused, now: now)
                    asked = nil
                default:
                    if Bool.random(using: &generator) { policy.worked() }
                    try? policy.unauthorised(now: now)
                }
            }
            #expect(zip(begun, begun.dropFirst()).allSatisfy { $0 < $1 })
        }
    }
}
