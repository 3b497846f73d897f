import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("When an access token is used, exchanged, or waited for")
struct FCMTokenPolicyTests {
    typealias Decision = FCMTokenPolicy.Decision

    private static let exchange = Decision(use: .wait(seconds: 1), beginsExchange: true)

    private static func wait(_ seconds: Int) -> Decision {
        Decision(use: .wait(seconds: seconds), beginsExchange: false)
    }

    private static func failure(_ fault: FCMFault) -> Decision {
        Decision(use: .failure(.misconfigured(.fcm(fault))), beginsExchange: false)
    }

    /// Uptime in seconds of a machine whose clocks are right.
    private static func at(_ seconds: Int) -> ClockReading {
        ClockReading(wall: 1_700_000_000 + seconds, uptime: seconds, boot: [])
    }

    /// With a token asked for and obtained at 1000, good for an hour.
    private static func holding() -> FCMTokenPolicy {
        var policy = FCMTokenPolicy()
        _ = policy.decide(Self.at(1000))
        policy.obtained(asked: 1000, lifetime: 3600, now: 1000)
        return policy
    }

    @Test("the first question begins an exchange, and others wait for that one")
    func first() {
        var policy = FCMTokenPolicy()
        #expect(policy.decide(Self.at(1000)) == Self.exchange)
        #expect(policy.decide(Self.at(1000)) == Self.wait(1))
        #expect(policy.decide(Self.at(1029)) == Self.wait(1))
        policy.obtained(asked: 1000, lifetime: 3600, now: 1030)
        #expect(policy.grant(1030) == .usual)
    }

    @Test("it is replaced five minutes before its end, once, and used meanwhile")
    func refresh() {
        var policy = Self.holding()
        #expect(policy.grant(4299) == .usual)
        #expect(policy.grant(4300) == .exchanging)
        #expect(policy.grant(4301) == .usual)
        #expect(policy.grant(4569) == .usual)
        #expect(policy.decide(Self.at(4570)) == Self.wait(1))
        policy.obtained(asked: 4300, lifetime: 3600, now: 4580)
        #expect(policy.grant(4580) == .usual)
        #expect(policy.grant(7600) == .exchanging)
    }

    @Test("one that is short-lived is replaced at half its time, and never more often than that")
    func shortLived() {
        var policy = FCMTokenPolicy()
        #expect(policy.decide(Self.at(0)) == Self.exchange)
        policy.obtained(asked: 0, lifetime: 100, now: 1)
        #expect(policy.grant(49) == .usual)
        #expect(policy.grant(50) == .exchanging)
        policy.obtained(asked: 50, lifetime: 1, now: 50)
        #expect(policy.decide(Self.at(51)) == Self.wait(9))
        #expect(policy.decide(Self.at(60)) == Self.exchange)
    }

    @Test("a failed exchange is tried again after 1, 2, 4 … 60 seconds")
    func backoff() {
        var policy = FCMTokenPolicy()
        var now = 1000
        for wait in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            #expect(policy.decide(Self.at(now)) == Self.exchange)
            policy.failed(retryAfter: 0, now: now, jitter: 0)
            #expect(policy.decide(Self.at(now)) == Self.wait(wait))
            now += wait
        }
    }

    @Test("jitter stretches the wait by up to a half, and a longer wish of the far end counts")
    func jitter() {
        var policy = FCMTokenPolicy()
        for _ in 0..<3 {
            policy.failed(retryAfter: 0, now: 1000, jitter: 0.999)
        }
        #expect(policy.decide(Self.at(1000)) == Self.wait(5))
        policy.failed(retryAfter: 120, now: 1006, jitter: 0.999)
        #expect(policy.decide(Self.at(1006)) == Self.wait(120))
        #expect(policy.decide(Self.at(1125)) == Self.wait(1))
        #expect(policy.decide(Self.at(1126)) == Self.exchange)
    }

    @Test("a wish for years is no longer than the patience")
    func longWish() {
        var policy = FCMTokenPolicy()
        _ = policy.decide(Self.at(1000))
        policy.failed(retryAfter: Int(Int32.max), now: 1000, jitter: 0)
        #expect(policy.decide(Self.at(1001)) == Self.wait(299))
        #expect(policy.decide(Self.at(1500)) == Self.exchange)
    }

    @Test("after five minutes without a token the round is given up, and the next starts anew")
    func patience() {
        var policy = FCMTokenPolicy()
        var now = 1000
        var last = Self.exchange
        while now < 1300 {
            last = policy.decide(Self.at(now))
            if last.beginsExchange { policy.failed(retryAfter: 0, now: now, jitter: 0) }
            now += 1
        }
        #expect(last.use != .failure(.unavailable(.noAccessToken, .fcm)))
        #expect(
            policy.decide(Self.at(1300))
                == Decision(
                    use: .failure(.unavailable(.noAccessToken, .fcm)), beginsExchange: false))
        #expect(policy.decide(Self.at(8500)) == Self.exchange)
        policy.failed(retryAfter: 0, now: 8500, jitter: 0)
        #expect(policy.decide(Self.at(8500)) == Self.wait(1))
    }

    @Test("failures of an earlier round do not shorten the patience of a later one")
    func laterRound() {
        var policy = FCMTokenPolicy()
        _ = policy.decide(Self.at(1000))
        policy.failed(retryAfter: 0, now: 1000, jitter: 0)
        // Two hours later; the round before ended meanwhile.
        #expect(policy.decide(Self.at(8200)) == Self.exchange)
        policy.failed(retryAfter: 0, now: 8200, jitter: 0)
        #expect(policy.decide(Self.at(8200)) == Self.wait(1))
    }

    @Test("a refresh that fails leaves the token in use, and is tried again before its end")
    func refreshFails() {
        var policy = Self.holding()
        #expect(policy.grant(4300) == .exchanging)
        policy.failed(retryAfter: 0, now: 4300, jitter: 0)
        #expect(policy.grant(4300) == .usual)
        #expect(policy.grant(4301) == .exchanging)
        for wait in [2, 4] {
            policy.failed(.grantRefused, now: 4302, jitter: 0)
            #expect(policy.grant(4302 + wait - 1) == .usual)
            #expect(policy.grant(4302 + wait) == .exchanging)
        }
        policy.failed(.grantRefused, now: 4563, jitter: 0)
        #expect(policy.grant(4569) == .usual)
        #expect(policy.decide(Self.at(4570)) == Self.failure(.grantRefused))
    }

    @Test("two refused exchanges pass; a third is the gateway's fault, not repeated for a minute")
    func refused() {
        var policy = FCMTokenPolicy()
        for (now, wait) in [(1000, 1), (1001, 2)] {
            #expect(policy.decide(Self.at(now)) == Self.exchange)
            policy.failed(.grantRefused, now: now, jitter: 0)
            #expect(policy.decide(Self.at(now)) == Self.wait(wait))
        }
        #expect(policy.decide(Self.at(1003)) == Self.exchange)
        policy.failed(.grantRefused, now: 1003, jitter: 0)
        #expect(policy.decide(Self.at(1003)) == Self.failure(.grantRefused))
        #expect(policy.decide(Self.at(1062)) == Self.failure(.grantRefused))
        #expect(policy.decide(Self.at(1063)) == Self.exchange)
        #expect(policy.decide(Self.at(1064)) == Self.wait(1))
        policy.obtained(asked: 1063, lifetime: 3600, now: 1064)
        #expect(policy.grant(1064) == .usual)
        policy.failed(.grantRefused, now: 1065, jitter: 0)
        #expect(policy.grant(1066) == .usual)
    }

    @Test("a first token that never worked and is refused five times is the gateway's fault")
    func neverWorked() throws {
        var policy = Self.holding()
        try policy.learn(CredentialFeedback(expired: 4), now: 1001)
        #expect(policy.grant(1001) == .usual)
        #expect(throws: GatewayFailure.misconfigured(.fcm(.tokenRefused))) {
            try policy.learn(CredentialFeedback(expired: 1), now: 1001)
        }
        #expect(policy.decide(Self.at(1002)) == Self.wait(9))
    }

    @Test("four refusals of a token are strays; five in a row replace it, at most once a minute")
    func unauthorised() throws {
        var policy = Self.holding()
        for _ in 0..<20 {
            try policy.learn(CredentialFeedback(expired: 4), now: 1010)
            try policy.learn(.worked, now: 1010)
        }
        #expect(policy.grant(1020) == .usual)
        try policy.learn(CredentialFeedback(expired: 5), now: 1020)
        try policy.learn(CredentialFeedback(expired: 5), now: 1021)
        #expect(policy.decide(Self.at(1021)) == Self.wait(39))
        #expect(policy.decide(Self.at(1060)) == Self.exchange)
        policy.obtained(asked: 1060, lifetime: 3600, now: 1061)
        #expect(policy.grant(1061) == .usual)
        // Answers to the token before come late.
        try policy.learn(CredentialFeedback(expired: 5), now: 1062)
        let later = 1061 + TokenInUse.lateSeconds
        #expect(throws: GatewayFailure.misconfigured(.fcm(.tokenRefused))) {
            try policy.learn(CredentialFeedback(expired: 5), now: later)
        }
        #expect(policy.decide(Self.at(later)) == Self.wait(FCMTokenPolicy.shortest))
        #expect(policy.decide(Self.at(8000)) == Self.exchange)
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
                    let decision = policy.decide(Self.at(now))
                    if case .token = decision.use { #expect(now < end ?? 0) }
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
                    policy.failed(
                        .grantRefused, now: now, jitter: .random(in: 0..<1, using: &generator))
                    asked = nil
                default:
                    let refusals = Int.random(in: 0...5, using: &generator)
                    try? policy.learn(CredentialFeedback(expired: refusals), now: now)
                }
            }
            #expect(zip(begun, begun.dropFirst()).allSatisfy { $0 < $1 })
        }
    }
}

extension FCMTokenPolicy {
    fileprivate mutating func obtained(asked: Int, lifetime: Int, now: Int) {
        let reading = ClockReading(wall: 1_700_000_000 + asked, uptime: asked, boot: [])
        obtained(SecretBytes(Array("token".utf8)), asked: reading, lifetime: lifetime, now: now)
    }

    fileprivate enum Grant { case none, usual, exchanging }

    /// Whether the token is given out, and another asked for.
    fileprivate mutating func grant(_ now: Int) -> Grant {
        let decision = decide(ClockReading(wall: 1_700_000_000 + now, uptime: now, boot: []))
        guard case .token = decision.use else { return .none }
        return decision.beginsExchange ? .exchanging : .usual
    }
}
