private import Synchronization
private import WakeFetch
private import WakeModel
package import WakeSystem

/// The access token of one service account, by one exchange at a time, in memory only.
package final class FCMTokenProvider: TokenProvider {
    private struct State {
        var policy = FCMTokenPolicy()
        var current = CurrentToken<SecretBytes>()
        var exchange: Task<Void, Never>?
        var waiting: [@Sendable () -> Void] = []
    }

    package let projectID: String
    private let exchange: FCMTokenExchange
    private let clock: @Sendable () -> ClockReading
    private let jitter: @Sendable () -> Double
    private let state = Mutex(State())

    /// - Parameter authorityFile: authorities to trust instead of the system's.
    package init(
        _ identity: any FCMIdentity, authorityFile: String? = nil,
        clock: @escaping @Sendable () -> ClockReading = { .system() },
        jitter: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) throws(FCMTokenProviderError) {
        projectID = identity.projectID
        self.clock = clock
        self.jitter = jitter
        guard let fetcher = try? Fetcher(FetchConfiguration(caFile: authorityFile)) else {
            throw .libraryMissing
        }
        exchange = FCMTokenExchange(identity, fetcher)
    }

    deinit { state.withLock { $0.exchange?.cancel() } }

    /// - Parameter whenChanged: called at the end of a current exchange.
    func credential(
        at now: ClockReading, whenChanged: @escaping @Sendable () -> Void = {}
    ) throws(GatewayFailure) -> Credential {
        try state.withLock { state throws(GatewayFailure) in
            let decision = state.policy.decide(now.uptime)
            if decision.beginsExchange { state.exchange = begin(now) }
            switch decision.use {
            case .wait(let seconds):
                if state.policy.isExchanging { state.waiting.append(whenChanged) }
                return .wait(seconds: seconds)
            case .failure(let failure): throw failure
            case .token:
                guard let token = state.current.token else {
                    preconditionFailure("the policy uses what was obtained")
                }
                return .value(FCMRequest.authorization(token), serial: state.current.serial)
            }
        }
    }

    func learn(_ feedback: CredentialFeedback, at now: ClockReading) throws(GatewayFailure) {
        try state.withLock { state throws(GatewayFailure) in
            guard !state.current.isRecent(uptime: now.uptime) else { return }
            // In this order: it worked until it was refused.
            if feedback.contains(.worked) { state.policy.worked() }
            if feedback.contains(.expired) { try state.policy.unauthorised(now: now.uptime) }
        }
    }

    private func begin(_ asked: ClockReading) -> Task<Void, Never> {
        Task { [weak self, exchange] in
            let outcome = await exchange.run(now: asked.wall)
            self?.complete(outcome, asked: asked)
        }
    }

    private func complete(_ outcome: FCMTokenExchange.Outcome, asked: ClockReading) {
        let now = clock().uptime
        let waiting = state.withLock { state in
            switch outcome {
            case .token(let token, let lifetime):
                state.current.use(token, uptime: now)
                state.policy.obtained(asked: asked.uptime, lifetime: lifetime, now: now)
            case .refused(let fault): state.policy.refused(fault, now: now)
            case .failed(let retryAfter):
                state.policy.failed(retryAfter: retryAfter, now: now, jitter: jitter())
            }
            defer { state.waiting = [] }
            return state.waiting
        }
        // Not under the lock, which the callee takes.
        for resume in waiting { resume() }
    }
}

/// The rules for using and exchanging an access token, as a value. Times are seconds of uptime. Its
/// owner makes the exchanges, one at a time.
package struct FCMTokenPolicy: Sendable {
    package enum Use: Sendable, Equatable {
        case token
        case wait(seconds: Int)
        case failure(GatewayFailure)
    }

    package struct Decision: Sendable, Equatable {
        package let use: Use
        /// An exchange is to begin now; it counts as begun from here on.
        package let beginsExchange: Bool
    }

    /// Seconds before the end of a token at which it is replaced.
    package static let early = 5 * 60
    /// Seconds before its end from which it is not used, because of what is in flight.
    package static let margin = 30
    /// Seconds between two successful exchanges.
    package static let shortest = 10
    /// Seconds after a refusal, of the exchange or of its token, before another exchange.
    package static let holdoff = 60
    /// Seconds after an exchange that failed: at first, doubled by each, and at most.
    package static let first = 1
    package static let longest = 60
    /// Seconds without any token until the gateway is given up for the round.
    package static let patience = 5 * 60

    private struct Grant {
        let obtained: Int
        let refresh: Int
        let end: Int
        var hasWorked = false
        var isRefused = false
    }

    private var grant: Grant?
    private(set) var isExchanging = false
    private var backoff = Backoff(
        base: .seconds(first), ceiling: .seconds(longest), jitter: .stretch)
    private var failingSince: Int?
    private var notBefore = Int.min
    private var fault: FCMFault?

    package init() {}

    package mutating func decide(_ now: Int) -> Decision {
        if let grant, !grant.isRefused, now < grant.end {
            return Decision(use: .token, beginsExchange: now >= grant.refresh && begin(now))
        }
        if isExchanging { return Decision(use: .wait(seconds: 1), beginsExchange: false) }
        // Failures of an earlier round say nothing about this one.
        if backoff.failures > 0, now - notBefore > 2 * Self.longest {
            backoff.succeed()
            failingSince = nil
        }
        if let fault, now < notBefore {
            return Decision(use: .failure(.misconfigured(.fcm(fault))), beginsExchange: false)
        }
        if let since = failingSince, now - since >= Self.patience {
            failingSince = nil
            return Decision(
                use: .failure(.unavailable(.noAccessToken, .fcm)), beginsExchange: false)
        }
        let begins = begin(now)
        return Decision(
            use: .wait(seconds: begins ? 1 : max(1, notBefore - now)), beginsExchange: begins)
    }

    private mutating func begin(_ now: Int) -> Bool {
        guard !isExchanging, now >= notBefore else { return false }
        isExchanging = true
        fault = nil
        return true
    }

    /// The exchange that began at `asked` brought a token good for `lifetime` seconds from then.
    package mutating func obtained(asked: Int, lifetime: Int, now: Int) {
        let refresh = max(asked + lifetime - Self.early, asked + lifetime / 2)
        grant = Grant(obtained: now, refresh: refresh, end: asked + lifetime - Self.margin)
        isExchanging = false
        backoff.succeed()
        failingSince = nil
        notBefore = now + Self.shortest
    }

    package mutating func refused(_ fault: FCMFault, now: Int) {
        isExchanging = false
        self.fault = fault
        backoff.succeed()
        failingSince = nil
        notBefore = now + Self.holdoff
    }

    /// Records a failure that may pass. `retryAfter`: seconds, 0 when not asked for, and no more
    /// than the patience: a wish of years would outlast every round. `jitter`: from 0 to 1,
    /// stretches the wait by up to a half.
    package mutating func failed(retryAfter: Int, now: Int, jitter: Double) {
        isExchanging = false
        if failingSince == nil { failingSince = now }
        let wait = backoff.fail(random: jitter, floor: .seconds(min(retryAfter, Self.patience)))
        notBefore = now + Int(wait / .seconds(1))
    }

    package mutating func worked() { grant?.hasWorked = true }

    /// 401 for a wake-up sent with the token in use; throws when that token has never worked.
    package mutating func unauthorised(now: Int) throws(GatewayFailure) {
        guard let grant, !grant.isRefused else { return }
        guard grant.hasWorked else {
            self.grant = nil
            notBefore = max(notBefore, now + Self.shortest)
            throw .misconfigured(.fcm(.tokenRefused))
        }
        self.grant?.isRefused = true
        notBefore = max(notBefore, grant.obtained + Self.holdoff)
    }
}

package enum FCMTokenProviderError: Error, Equatable, Sendable {
    case libraryMissing

    package var message: String {
        "[fcm] libcurl.so.4 cannot be used\n"
            + "hint: install the package libcurl4: apt-get install libcurl4"
    }
}
