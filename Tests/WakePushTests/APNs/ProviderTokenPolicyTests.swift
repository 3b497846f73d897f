import TestSupport
import Testing
import WakeSystem

@testable import WakePush

@Suite(
    "When provider tokens are made",
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct ProviderTokenPolicyTests {
    private let start = ProviderTokenTests.start
    private let credentials: APNsCredentials

    init() throws {
        credentials = try ProviderTokenTests.credentials(SigningKeyPair())
    }

    private func mint(_ now: ClockReading) throws -> ProviderToken {
        try #require(ProviderToken(mintedBy: credentials, at: now))
    }

    /// A policy that has just made a token.
    private func running() throws -> (ProviderTokenPolicy, ProviderToken) {
        var policy = ProviderTokenPolicy()
        #expect(policy.decide(start) == .mint)
        let token = try mint(start)
        policy.minted(token)
        return (policy, token)
    }

    @Test("a token is used for fifty minutes and then replaced")
    func reuse() throws {
        var (policy, token) = try running()
        #expect(policy.decide(start) == .use(token))
        #expect(policy.decide(start.later(3000 - 1)) == .use(token))
        #expect(policy.decide(start.later(3000)) == .mint)
    }

    @Test("an expired token of twenty minutes is replaced at once, and once")
    func expired() throws {
        var (policy, token) = try running()
        let later = start.later(1200)
        try policy.expired(token, at: later)
        // Every answer still in flight says the same.
        try policy.expired(token, at: later)
        #expect(policy.decide(later) == .mint)
        let second = try mint(later)
        policy.minted(second)
        try policy.expired(token, at: later)
        #expect(policy.decide(later) == .use(second))
    }

    @Test("an expired token that is younger blames the clock", arguments: [0, 60, 1199])
    func expiredEarly(_ age: Int) throws {
        var (policy, token) = try running()
        let now = start.later(age)
        #expect(throws: GatewayFailure.misconfigured(.apns(.clockWrong))) {
            try policy.expired(token, at: now)
        }
        // No other token is made for it.
        #expect(policy.decide(now) == .use(token))
    }

    @Test("a kept token whose age nobody knows may expire, and is replaced when that is allowed")
    func expiredOfUnknownAge() throws {
        let (_, token) = try running()
        var policy = ProviderTokenPolicy(kept: token)
        // After a reboot the wall clock has gone back.
        let now = ClockReading(
            wall: start.wall - 300, uptime: 20, boot: [UInt8](repeating: 2, count: 16))
        try policy.expired(token, at: now)
        #expect(policy.decide(now) == .wait(seconds: 1180))
        #expect(policy.decide(now.later(1180)) == .mint)
    }

    @Test("a replacement that is refused as expired blames the clock")
    func clockWrong() throws {
        var (policy, token) = try running()
        try policy.expired(token, at: start.later(1200))
        let second = try mint(start.later(1200))
        policy.minted(second)
        #expect(throws: GatewayFailure.misconfigured(.apns(.clockWrong))) {
            try policy.expired(second, at: start.later(2400))
        }
    }

    @Test("a replacement that worked may expire in its turn")
    func replacementWorked() throws {
        var (policy, token) = try running()
        try policy.expired(token, at: start.later(1200))
        let second = try mint(start.later(1200))
        policy.minted(second)
        policy.worked(second)
        try policy.expired(second, at: start.later(2400))
        #expect(policy.decide(start.later(2400)) == .mint)
    }

    @Test("too many updates mean twenty minutes of silence, then the same token")
    func tooMany() throws {
        var (policy, token) = try running()
        policy.tooManyUpdates(start.later(100))
        policy.tooManyUpdates(start.later(200))
        #expect(policy.decide(start.later(200)) == .wait(seconds: 1100))
        #expect(policy.decide(start.later(1300)) == .use(token))
    }

    @Test("a wall clock that is set changes nothing while the machine runs")
    func clockSet() throws {
        for jump in [-86_400, -3600, -60, 60, 3600, 86_400] {
            var (policy, token) = try running()
            let now = ClockReading(
                wall: start.wall + 600 + jump, uptime: start.uptime + 600, boot: start.boot)
            #expect(policy.decide(now) == .use(token))
        }
    }

    @Test("after a reboot the wall clock counts, unless it went back")
    func reboot() throws {
        let (_, token) = try running()
        let other = [UInt8](repeating: 2, count: 16)
        var policy = ProviderTokenPolicy(kept: token)
        let soon = ClockReading(wall: start.wall + 300, uptime: 20, boot: other)
        #expect(policy.decide(soon) == .use(token))
        let late = ClockReading(wall: start.wall + 3000, uptime: 20, boot: other)
        #expect(policy.decide(late) == .mint)
        let back = ClockReading(wall: start.wall - 300, uptime: 20, boot: other)
        #expect(policy.decide(back) == .wait(seconds: 1180))
        #expect(policy.decide(back.later(1180)) == .mint)
    }

    /// What a life may hold beside restarts and refusals. A clock that is wrong when a token is
    /// made and right after a reboot cannot be told from time that passed: not both at once.
    enum Trouble: CaseIterable { case clockSet, reboots }

    @Test(
        "in any life at most one token is made in 20 minutes, and none is used at 60",
        arguments: Trouble.allCases, 0..<40)
    func anyLife(_ trouble: Trouble, _ seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let directory = try TemporaryDirectory()
        let path = directory.path + "/apns.token"
        var world = World()
        var tokens = try APNsTokenProvider(credentials, tokenFile: path)
        var (mints, used) = (0, 0)
        var current: [UInt8]?
        var mintedAt = Int.min / 2
        for _ in 0..<300 {
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: tokens = try APNsTokenProvider(credentials, tokenFile: path)
            case 1 where trouble == .reboots:
                world.reboot(after: Int.random(in: 5...4000, using: &generator))
                tokens = try APNsTokenProvider(credentials, tokenFile: path)
            case 1: world.wallOffset += Int.random(in: -90_000...90_000, using: &generator)
            case let choice where choice < 5:
                let feedback: [CredentialFeedback] = [.expired, .tooManyUpdates, .worked]
                // An undeserved refusal at worst says that the gateway must stop.
                try? tokens.learn(feedback[choice - 2], at: world.now)
            default: world.pass(Int.random(in: 1...900, using: &generator))
            }
            guard case .value(let value, _) = try tokens.credential(at: world.now) else {
                continue
            }
            if value != current {
                #expect(world.time - mintedAt >= 1200)
                mintedAt = world.time
                current = value
                mints += 1
            }
            used += 1
            #expect(world.time - mintedAt < 3600)
        }
        #expect(used > 50 && mints > 10)
    }
}

/// The true time, and what the clocks of a machine make of it.
private struct World {
    private(set) var time = 1_700_000_000
    private var started = 1_699_990_000
    private var boot: UInt8 = 1
    var wallOffset = 0

    var now: ClockReading {
        ClockReading(
            wall: time + wallOffset, uptime: time - started,
            boot: [UInt8](repeating: boot, count: 16))
    }

    mutating func pass(_ seconds: Int) { time += seconds }

    mutating func reboot(after seconds: Int) {
        time += seconds
        started = time - 3
        boot &+= 1
    }
}
