private import Synchronization
private import WakeFetch
private import WakeModel

/// One service account, and its access token: obtained when the policy says so, one exchange at a
/// time, in memory only.
package final class FCMAccount: Sendable {
    private struct State {
        var policy = FCMTokenPolicy()
        var token: SecretBytes?
        var serial = 0
        /// Uptime in seconds when `token` replaced another; nil for the first of this process.
        var replacedAt: Int?
        /// The exchange under way, or the last.
        var exchange: Task<Void, Never>?
        /// Who waits for its end.
        var waiting: [@Sendable () -> Void] = []
    }

    package let projectID: String
    private let exchange: FCMTokenExchange
    private let clock: @Sendable () -> ClockReading
    private let chance: @Sendable () -> Double
    private let state = Mutex(State())

    /// Seconds after a change in which an answer may be to the token before: no push waits longer
    /// for its answer.
    private static let lateSeconds = 1 + Int(ConnectionLimits().answerMilliseconds / 1000)

    /// - Parameter authorityFile: authorities to trust instead of the system's.
    /// - Throws: `libraryMissing` when libcurl cannot be loaded.
    package init(
        _ credentials: FCMCredentials, authorityFile: String? = nil,
        clock: @escaping @Sendable () -> ClockReading = { .system() },
        chance: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) throws(FCMAccountError) {
        projectID = credentials.projectID
        self.clock = clock
        self.chance = chance
        do throws(FetchError) {
            let fetcher = try Fetcher(FetchConfiguration(caFile: authorityFile))
            exchange = FCMTokenExchange(credentials, fetcher)
        } catch {
            throw .libraryMissing
        }
    }

    deinit { state.withLock { $0.exchange?.cancel() } }

    /// - Parameter whenChanged: called when an exchange that is waited for has ended.
    func credential(
        at now: ClockReading, whenChanged: @escaping @Sendable () -> Void = {}
    ) throws(GatewayFailure) -> Credential {
        try state.withLock { state throws(GatewayFailure) in
            let decision = state.policy.decide(now.uptime)
            if decision.beginsExchange { state.exchange = begin(now) }
            switch decision.use {
            case .wait(let seconds):
                // Asked again every second meanwhile, for half a minute at most.
                if state.policy.isExchanging { state.waiting.append(whenChanged) }
                return .wait(seconds: seconds)
            case .failure(let failure): throw failure
            case .token:
                guard let token = state.token else {
                    preconditionFailure("the policy uses what was obtained")
                }
                return .value(FCMRequest.authorization(token), serial: state.serial)
            }
        }
    }

    func note(_ news: CredentialNews, at now: ClockReading) throws(GatewayFailure) {
        try state.withLock { state throws(GatewayFailure) in
            if let replacedAt = state.replacedAt, now.uptime - replacedAt < Self.lateSeconds {
                return
            }
            // Both at once: it worked until it was refused.
            if news.contains(.worked) { state.policy.worked() }
            if news.contains(.expired) { try state.policy.unauthorised(now: now.uptime) }
        }
    }

    // MARK: The exchange

    /// Ends with the account: nobody waits for it.
    private func begin(_ asked: ClockReading) -> Task<Void, Never> {
        Task { [weak self, exchange] in
            let outcome = await exchange.run(now: asked.wall)
            self?.take(outcome, asked: asked)
        }
    }

    private func take(_ outcome: FCMTokenExchange.Outcome, asked: ClockReading) {
        let now = clock().uptime
        let waiting = state.withLock { state in
            switch outcome {
            case .token(let token, let lifetime):
                if state.token != nil { state.replacedAt = now }
                state.token = token
                state.serial += 1
                state.policy.obtained(asked: asked.uptime, lifetime: lifetime, now: now)
            case .refused(let fault): state.policy.refused(fault, now: now)
            case .failed(let retryAfter):
                state.policy.failed(retryAfter: retryAfter, now: now, chance: chance())
            }
            defer { state.waiting = [] }
            return state.waiting
        }
        // Not under the lock: whoever is told asks at once.
        for tell in waiting { tell() }
    }
}

/// Why there is no account.
package enum FCMAccountError: Error, Equatable, Sendable {
    case libraryMissing

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        "[fcm] libcurl.so.4 cannot be used\n"
            + "hint: install the package libcurl4: apt-get install libcurl4"
    }
}
