public import Foundation
import WakeBytes
import WakeFeed

/// A client for an app on a phone: it keeps a push token registered with a Reveille service, and
/// compares the signed feed that all clients fetch with secrets that never leave the device.
/// ```swift
/// let client = try PhoneClient(PhoneConfiguration(
///     feed: feed, feedKey: key, service: service, stateDirectory: directory))
/// try await client.register(.apns(deviceToken))
/// let result = await client.cycle(secrets: ["visit": secret], reason: .push)
/// for match in result.matches {
///     notify(match)
///     try await client.acknowledge(match.id)
/// }
/// ```
/// All state is in the state directory: the process may be killed at any moment. A match is
/// delivered until it is acknowledged, also after a kill, and under the same id.
public actor PhoneClient {
    /// Seconds that a cycle takes at most: a push and a background refresh have about 30.
    public static let timeLimit: TimeInterval = 25
    /// Seconds of it that a registration may take before the feed is checked.
    private static let registrationTime: TimeInterval = 8
    /// Seconds of random wait after a push at most.
    private static let longestSpread = 5.0

    private let configuration: PhoneConfiguration
    private let trust: PhoneConfiguration.Trust
    private let store: PhoneStore
    private let transport: any PhoneTransport
    private let environment: PhoneEnvironment

    private var running: Task<PhoneCycleResult, Never>?
    private var isReconciling = false
    private var turns: [CheckedContinuation<Void, Never>] = []

    /// Opens nothing yet and makes no request.
    /// - Parameters:
    ///   - configuration: addresses, the feed's key and the state directory.
    ///   - transport: ``URLSessionTransport`` unless the app brings another.
    /// - Throws: ``PhoneError/configuration(_:)``.
    public init(
        _ configuration: PhoneConfiguration, transport: any PhoneTransport = URLSessionTransport()
    ) throws(PhoneError) {
        #if canImport(Security)
            try self.init(configuration, transport: transport, vault: KeychainVault())
        #else
            try self.init(configuration, transport: transport, vault: nil)
        #endif
    }

    package init(
        _ configuration: PhoneConfiguration, transport: any PhoneTransport,
        vault: (any TokenVault)?
    ) throws(PhoneError) {
        let environment = PhoneEnvironment()
        self.configuration = configuration
        trust = try configuration.trust()
        store = PhoneStore(
            configuration, key: trust.key, vault: vault, now: environment.wall)
        self.transport = transport
        self.environment = environment
    }

    // MARK: Registration

    /// Stores the push token as desired, and tries to register it; each cycle keeps trying, and
    /// renews. To be called at each start of the app, with what
    /// `didRegisterForRemoteNotificationsWithDeviceToken` brings. Calls that change nothing make no
    /// request.
    /// - Throws: ``PhoneError/configuration(_:)`` without a service, ``PhoneError/state(_:)`` or
    ///   ``PhoneError/diskFull``. A request that fails is no error: see the result.
    @discardableResult
    public func register(_ token: PhonePushToken) async throws(PhoneError) -> PhoneRegistrationState
    {
        guard let service = configuration.service else { throw .configuration(.serviceMissing) }
        let now = environment.wall()
        try store.update { $0.registration(at: service) { $0.register(token, now: now) } }
        return try await reconciledState()
    }

    /// Stores as desired that the service holds nothing about this client, and tries once; each
    /// cycle keeps trying, across restarts. Once acknowledged, the instance token is forgotten.
    /// - Throws: ``PhoneError/state(_:)`` or ``PhoneError/diskFull``.
    @discardableResult
    public func unregister() async throws(PhoneError) -> PhoneRegistrationState {
        let now = environment.wall()
        try store.update { $0.unregister(now: now) }
        return try await reconciledState()
    }

    private func reconciledState() async throws(PhoneError) -> PhoneRegistrationState {
        _ = try await reconcile(until: environment.uptime() + Self.timeLimit, renews: true)
        return try store.state().registrationState(at: configuration.service)
    }

    /// Takes the steps that are due. One call at a time.
    /// - Parameter renews: false leaves out what the service has acknowledged already.
    /// - Returns: when the next step is due, seconds since 1970; nil for none.
    private func reconcile(
        until deadline: TimeInterval, renews: Bool
    ) async throws(PhoneError) -> Double? {
        while isReconciling { await withCheckedContinuation { turns.append($0) } }
        isReconciling = true
        let end: Result<Double?, PhoneError>
        do throws(PhoneError) { end = .success(try await steps(until: deadline, renews)) } catch {
            end = .failure(error)
        }
        await transport.close(.registration)
        isReconciling = false
        for turn in turns { turn.resume() }
        turns = []
        return try end.get()
    }

    private func steps(
        until deadline: TimeInterval, _ renews: Bool
    ) async throws(PhoneError) -> Double? {
        while true {
            let now = environment.wall()
            // Saved before a request leaves: an instance token that is lost cannot be deleted.
            let duty = try store.update { $0.nextDuty(renews: renews, now: now) }
            let left = deadline - environment.uptime()
            switch duty {
            case .rest(let next): return next
            case _ where Task.isCancelled || left < 1: return now
            case .send(let request, let service):
                guard try await send(request, to: service, within: left) else { return now }
            case .solve(let challenge, let service):
                let (uptime, end) = (environment.uptime, environment.uptime() + left - 1)
                let proof = await Self.solve(challenge) { !Task.isCancelled && uptime() < end }
                try store.update { state in
                    state.registration(at: service) { $0.add(proof: proof, for: challenge) }
                }
            }
        }
    }

    /// - Returns: false when the task was cancelled: then nothing of it counts.
    private func send(
        _ request: PhoneRegistration.Request, to service: URL, within left: TimeInterval
    ) async throws(PhoneError) -> Bool {
        let answer: Result<PhoneResponse, PhoneError>
        do throws(PhoneError) {
            answer = .success(try await transport.send(request.message(to: service, within: left)))
        } catch {
            guard error != .cancelled else { return false }
            answer = .failure(error)
        }
        let now = environment.wall()
        try store.update { state in
            state.registration(at: service) { registration in
                switch answer {
                case .success(let answer):
                    registration.received(
                        answer.status, to: request, retryAfter: answer.retryAfter,
                        body: answer.body, now: now)
                case .failure(let error): registration.failed(error, now: now)
                }
            }
        }
        return true
    }

    /// Away from every actor: it keeps a core busy.
    @concurrent private static func solve(
        _ challenge: PhoneChallenge, while isWanted: @Sendable () -> Bool
    ) async -> String? { challenge.solve(while: isWanted) }

    // MARK: Cycles

    /// Does all that is due: sends what the registration needs, fetches the feed as every client
    /// does, compares it with the secrets, stores matches and cursor by one write, and closes the
    /// connections; only then it returns. It takes ``timeLimit`` seconds at most. Cancelling its
    /// task ends it early, as an expiring background task does: nothing is lost. A call while a
    /// cycle runs shares that one.
    /// - Parameters:
    ///   - secrets: 16 to 1024 bytes each, under names of the app's choosing that come back with
    ///     matches; others are passed over, with a warning. Read them before the call. nil when
    ///     they cannot be read: the line then shows what it always shows, and nothing counts as
    ///     checked. A secret that is added is compared with what is published from then on.
    ///   - reason: why now.
    @discardableResult
    public func cycle(
        secrets: [String: Data]?, reason: PhoneReason = .poll
    ) async -> PhoneCycleResult {
        while true {
            let isOwn = running == nil
            let task = running ?? Task { await self.runCycle(secrets, reason) }
            running = task
            let result = await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
            if running == task { running = nil }
            // Another caller's cycle, which that one cancelled.
            if !isOwn, result.failure == .cancelled, !Task.isCancelled { continue }
            return result
        }
    }

    private func runCycle(_ secrets: [String: Data]?, _ reason: PhoneReason) async
        -> PhoneCycleResult
    {
        let called = environment.uptime()
        var end = PhoneCheck.End()
        var outcome: PhoneCycleResult.Outcome?
        do throws(PhoneError) {
            let set = try hash(secrets)
            if try isListening(to: reason) {
                let deadline = called + Self.timeLimit
                // What a person asked for; renewals wait until the feed's connections are closed.
                _ = try await reconcile(until: called + Self.registrationTime, renews: false)
                end = await check(set, since: try await jitter(reason, called), until: deadline)
                _ = try await reconcile(until: deadline, renews: true)
            } else {
                outcome = .ignored
            }
        } catch { end.failure = error }
        return result(of: end, outcome, reason)
    }

    private func check(
        _ secrets: LocalSecretSet?, since start: TimeInterval, until deadline: TimeInterval
    ) async -> PhoneCheck.End {
        let check = PhoneCheck(
            trust: trust, feed: configuration.feed, store: store, transport: transport,
            environment: environment, deadline: deadline - PhoneCheck.linger - 1)
        return await check.run(against: secrets, since: start)
    }

    /// Hashes the secrets, before anything is sent, and records what is wrong with them.
    private func hash(_ secrets: [String: Data]?) throws(PhoneError) -> LocalSecretSet? {
        let usable = secrets?.sorted { $0.key < $1.key }.compactMap { id, bytes in
            LocalSecret(id: id, bytes: Array(bytes).span)
        }
        let unusable = (secrets?.count ?? 0) - (usable?.count ?? 0)
        let now = environment.seconds
        try store.update { state in
            state.checkBegan(now: now)
            state.note(
                secrets: secrets == nil
                    ? .secretsUnreadable
                    : unusable > 0 ? .unusableSecrets(count: unusable) : nil)
        }
        return usable.map(LocalSecretSet.init)
    }

    private func isListening(to reason: PhoneReason) throws(PhoneError) -> Bool {
        guard reason == .push else { return true }
        let state = try store.state()
        if case .unregistering = state.registrationState(at: configuration.service) { return false }
        return state.pausedUntil(now: environment.seconds) == nil
    }

    /// Waits after a push, at random within the spread: all clients are woken at once.
    /// - Returns: when the check was to begin, by the clock of uptime.
    private func jitter(
        _ reason: PhoneReason, _ called: TimeInterval
    ) async throws(PhoneError) -> TimeInterval {
        guard reason == .push else { return called }
        let spread = min(
            Double(try store.state().settings?.spreadSeconds ?? 10), Self.longestSpread)
        let wait = Double.random(in: 0...spread)
        do { try await Task.sleep(nanoseconds: UInt64(wait * 1_000_000_000)) } catch {
            throw .cancelled
        }
        return called + wait
    }

    private func result(
        of end: PhoneCheck.End, _ outcome: PhoneCycleResult.Outcome?, _ reason: PhoneReason
    ) -> PhoneCycleResult {
        let now = environment.wall()
        let (failure, service) = (end.failure, configuration.service)
        let state = try? store.update { state in
            if outcome != .ignored { state.checkEnded(failure) }
            return state
        }
        let found: PhoneCycleResult.Outcome =
            end.batches > 0 ? .checked(batches: end.batches, matches: end.matches) : .upToDate
        let isRetired = state?.isRetired == true && end.batches == 0
        let isWaiting = state?.registrationState(at: service).isUnderWay == true
        let pause = PhoneCycleResult.pause(
            after: failure, found, reason, state?.settings ?? FeedSettings())
        return PhoneCycleResult(
            outcome: outcome ?? (isRetired ? .retired : found), failure: failure,
            matches: state?.matches ?? [],
            nextCycle: Date(timeIntervalSince1970: now + (isWaiting ? min(pause, 900) : pause)))
    }

    // MARK: Matches and status

    /// The matches that were not acknowledged, in the order found.
    /// - Throws: ``PhoneError/state(_:)``.
    public func matches() throws(PhoneError) -> [PhoneMatch] { try store.state().matches }

    /// Records that the user was notified: the match is never delivered again, and of it only the
    /// id stays. A second call, or one with an unknown id, does nothing.
    /// - Throws: ``PhoneError/state(_:)`` or ``PhoneError/diskFull``: then it is delivered again.
    public func acknowledge(_ id: PhoneMatch.ID) throws(PhoneError) {
        let now = environment.seconds
        try store.update { $0.acknowledge(id, now: now) }
    }

    /// The client's knowledge about itself.
    /// - Throws: ``PhoneError/state(_:)``.
    public func status() throws(PhoneError) -> PhoneStatus {
        try store.state().status(at: configuration.service, now: environment.seconds)
    }

    /// Lines of text for a support page, without a token, an address or a URL.
    public func diagnostics() -> String {
        do throws(PhoneError) { return try status().diagnostics } catch {
            return "failure: \(error.code)"
        }
    }

    /// Begins the feed again, the way out of a fork: the history that is served now is checked from
    /// its oldest batch. Registration, matches and evidence stay.
    /// - Throws: ``PhoneError/state(_:)`` or ``PhoneError/diskFull``.
    public func startOver() throws(PhoneError) {
        let now = environment.seconds
        try store.update { $0.startOver(now: now) }
    }
}

extension PhoneRegistration.Request {
    #if canImport(FoundationNetworking)
        /// The length of nothing, which is announced on Linux alone.
        private static let announced = "Content-Length: 0\r\n".utf8.count
    #else
        private static let announced = 0
    #endif
    /// Bytes that a `PUT` has beyond a `DELETE`: two fields, a body, and three letters less. A
    /// field of so many bytes makes both of one size.
    private static let padding =
        -announced + 1024 + "Content-Type: application/json\r\n".utf8.count
        + "Content-Length: 1024\r\n".utf8.count - 3 - "Padding: \r\n".utf8.count

    func message(to service: URL, within timeLimit: TimeInterval) -> PhoneRequest {
        var fields = ["Authorization": authorization]
        if body == nil {
            fields["Padding"] = String(repeating: "0", count: Self.padding)
        } else {
            fields["Content-Type"] = "application/json"
        }
        return PhoneRequest(
            url: service.appendingPathComponent("v1/registration"), method: method, fields: fields,
            body: body, purpose: .registration, limit: 4096, timeLimit: min(timeLimit, 15))
    }
}
