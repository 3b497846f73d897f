private import Synchronization
private import WakeFetch
package import WakeModel
package import WakeSystem

/// The access token of one service account, by one exchange at a time, in memory only.
package final class FCMTokenProvider: TokenProvider {
    private struct State {
        var policy = FCMTokenPolicy()
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
            let decision = state.policy.decide(now)
            if decision.beginsExchange { state.exchange = begin(now) }
            switch decision.use {
            case .wait(let seconds):
                if state.policy.isExchanging { state.waiting.append(whenChanged) }
                return .wait(seconds: seconds, nil)
            case .failure(let failure): throw failure
            case .token(let token, let serial):
                return .value(FCMRequest.authorization(token.text), serial: serial)
            }
        }
    }

    func learn(_ feedback: CredentialFeedback, at now: ClockReading) throws(GatewayFailure) {
        try state.withLock { state throws(GatewayFailure) in
            try state.policy.learn(feedback, now: now.uptime)
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
                state.policy.obtained(token, asked: asked, lifetime: lifetime, now: now)
            case .refused(let fault):
                state.policy.failed(fault, now: now, jitter: jitter())
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
        case token(ProviderToken, serial: Int)
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
    /// Refused exchanges in a row that are believed: single ones pass.
    package static let refusalLimit = 3
    /// Seconds after an exchange that failed: at first, doubled by each, and at most.
    package static let first = 1
    package static let longest = 60
    /// Seconds without any token until the gateway is given up for the round.
    package static let patience = 5 * 60

    private var current = TokenInUse()
    private var obtainedAt = Int.min
    private(set) var isExchanging = false
    private var backoff = Backoff(
        base: .seconds(first), ceiling: .seconds(longest), jitter: .stretch)
    private var failingSince: Int?
    private var notBefore = Int.min
    private var fault: FCMFault?
    private var refusals = 0

    package init() {}

    package mutating func decide(_ reading: ClockReading) -> Decision {
        let now = reading.uptime
        if let token = current.usable(at: reading) {
            let begins = token.isDue(at: reading) && begin(now)
            return Decision(use: .token(token, serial: current.serial), beginsExchange: begins)
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
    package mutating func obtained(
        _ text: SecretBytes, asked: ClockReading, lifetime: Int, now: Int
    ) {
        let token = ProviderToken(
            text: text, issued: asked, refresh: max(lifetime - Self.early, lifetime / 2),
            end: lifetime - Self.margin)
        current.use(token, uptime: now)
        obtainedAt = now
        isExchanging = false
        backoff.succeed()
        failingSince = nil
        refusals = 0
        notBefore = now + Self.shortest
    }

    /// Records a failure that may pass, or a refusal: after three of those in a row `fault` is the
    /// gateway's. `retryAfter`: seconds, 0 when not asked for, and no more than the patience: a
    /// wish of years would outlast every round. `jitter`: from 0 to 1, stretches the wait by up to
    /// a half.
    package mutating func failed(
        _ fault: FCMFault? = nil, retryAfter: Int = 0, now: Int, jitter: Double
    ) {
        isExchanging = false
        refusals = fault == nil ? 0 : refusals + 1
        guard refusals < Self.refusalLimit else {
            self.fault = fault
            backoff.succeed()
            failingSince = nil
            notBefore = now + Self.holdoff
            return
        }
        if failingSince == nil { failingSince = now }
        let wait = backoff.fail(random: jitter, floor: .seconds(min(retryAfter, Self.patience)))
        notBefore = now + Int(wait / .seconds(1))
    }

    /// Throws when a token was refused that was the first one, or itself the answer to a refusal,
    /// and never worked.
    package mutating func learn(
        _ feedback: CredentialFeedback, now: Int
    ) throws(GatewayFailure) {
        guard current.learn(feedback, uptime: now) else { return }
        guard current.hasWorked || current.serial > 1 && !current.isReplacement else {
            notBefore = max(notBefore, now + Self.shortest)
            throw .misconfigured(.fcm(.tokenRefused))
        }
        notBefore = max(notBefore, obtainedAt + Self.holdoff)
    }
}

package enum FCMTokenProviderError: Error, Equatable, Sendable {
    case libraryMissing

    package var message: String {
        "[fcm] libcurl.so.4 cannot be used\n"
            + "hint: install the package libcurl4: apt-get install libcurl4"
    }
}
