import WakeFetch
import WakeModel
import WakeSystem

/// The registration with the service: stored as desired, then brought about, across restarts.
final class RegistrationKeeper {
    private let profile: ProfileState
    private let service: ServiceAddresses
    private let transport: any ClientTransport
    private let environment: ClientEnvironment
    /// Signalled when there may be a step to take.
    let event = AsyncEvent()

    private var isReconciling = false
    /// Another call came while one reconciled.
    private var wasRefused = false
    private var failure: ClientError?
    /// The proof of work that is computed.
    private var search: ProofSearch?
    /// The first attempt after the start is made at this time at the latest.
    private var restart: Int64?

    init(
        _ profile: ProfileState, at service: ServiceAddresses,
        through transport: any ClientTransport, in environment: ClientEnvironment
    ) {
        self.profile = profile
        self.service = service
        self.transport = transport
        self.environment = environment
    }

    func desired() throws(ClientError) -> DesiredRegistration? {
        try profile.database.registration()
    }

    func state() throws(ClientError) -> RegistrationState {
        RegistrationState(
            try desired(), mayRegister: profile.record.directives.mayRegister, failure: failure)
    }

    /// Registers under the instance token of this client. Brought about by `reconcile`.
    func register(_ token: AppPushToken) throws(ClientError) {
        guard canRegister else { throw .configuration(.serviceMissing) }
        try setDesired(.registered(token.wire))
    }

    var canRegister: Bool { service.registration != nil }

    func unregister() throws(ClientError) {
        // First: an endpoint that comes meanwhile is not registered again.
        try profile.database.dropDistributor()
        try setDesired(.absent)
    }

    /// Gives up the registration with a feed that has ended, and warns once.
    func retire() throws(ClientError) {
        if let desired = try desired(), desired.kind != .absent {
            try profile.database.replaceRegistration(
                .absent, newToken: environment.newInstanceToken())
            event.signal()
        }
        try profile.warnOnce(.retired, .retired)
    }

    func setDesired(_ kind: DesiredRegistration.Kind) throws(ClientError) {
        try profile.database.replaceRegistration(kind, newToken: environment.newInstanceToken())
        failure = nil
        search?.stop()
        event.signal()
    }

    func held() async throws(ClientError) -> HeldRegistration {
        guard let url = service.registration else { throw .configuration(.serviceMissing) }
        guard let desired = try desired() else { throw .notRegistered }
        return try await HeldRegistration(of: desired.instanceToken, at: url, through: transport)
    }

    /// Cuts the wait that an earlier process left behind; see `Reconciler.restart`.
    func shortenWait() throws(ClientError) {
        guard let desired = try desired(), Reconciler.shortensWait(of: desired),
            desired.failures > 0
        else { return }
        restart = environment.wallSeconds() + Int64(Reconciler.restart * environment.randomUnit())
    }

    /// Takes the due step and waits for the next; true when retired with nothing to unregister.
    func reconcileAndWait() async throws(ClientError) -> Bool {
        let next = try await reconcile()
        let record = profile.record
        if record.directives.isRetired, record.warned.contains(.retired), try desired() == nil {
            return true
        }
        await event.wait(for: environment.wait(until: next), in: environment)
        return false
    }

    /// Takes the step that is due, if any. One at a time; a second call returns at once.
    /// - Returns: seconds since 1970 of the next step; nil for none.
    @discardableResult
    func reconcile() async throws(ClientError) -> Int64? {
        if profile.database.needsScrub { try profile.database.scrub() }
        while true {
            let desired = try desired()
            let step = Reconciler.step(
                desired, now: environment.wallSeconds(),
                mayRegister: profile.record.directives.mayRegister, restart: restart)
            switch step {
            case .rest: return nil
            case .wait(let time): return time
            case .put, .delete:
                guard let desired, let url = service.registration else { return nil }
                guard !isReconciling else {
                    wasRefused = true
                    return nil
                }
                isReconciling = true
                defer {
                    isReconciling = false
                    // A refused caller knows of no next time: it must ask again.
                    if wasRefused { event.signal() }
                    wasRefused = false
                }
                try await attempt(desired, at: url)
            }
        }
    }

    private func attempt(
        _ desired: DesiredRegistration, at url: FetchURL
    ) async throws(ClientError) {
        var sent = try await send(desired, nil, at: url)
        for _ in 0..<ProofSearch.rounds {
            guard let challenge = sent.challenge,
                let proof = try await prove(challenge, for: desired)
            else { break }
            sent = try await send(desired, proof, at: url)
        }
        try conclude(sent.answer, sent.failure, for: desired)
    }

    private struct Sent {
        let answer: Reconciler.Answer
        var failure: ClientError?
        /// The work that the service wants before it registers.
        var challenge: RegistrationChallenge?
    }

    private func send(
        _ desired: DesiredRegistration, _ proof: RegistrationProof?, at url: FetchURL
    ) async throws(ClientError) -> Sent {
        let request =
            switch desired.kind {
            case .registered(let token):
                RegistrationRequest.put(token, proof: proof, by: desired.instanceToken, at: url)
            case .absent: RegistrationRequest.delete(by: desired.instanceToken, at: url)
            }
        do throws(FetchError) {
            let (bytes, response) = try await transport.answer(to: request)
            let (status, retryAfter) = (response.status, response.retryAfter)
            let answer = Reconciler.answer(status: status, retryAfter: retryAfter)
            guard answer != .acknowledged else { return Sent(answer: answer) }
            return Sent(
                answer: answer,
                failure: ClientError(registrationStatus: status, retryAfter: retryAfter),
                challenge: status == 429 ? RegistrationChallenge(problem: bytes) : nil)
        } catch {
            // The service may have got it or not; the next attempt carries the same token.
            guard error != .cancelled else { throw .cancelled }
            return Sent(answer: .failed(retryAfter: nil), failure: ClientError(error))
        }
    }

    /// Works for a proof; nil when it was not found in time, or is not desired any more.
    private func prove(
        _ challenge: RegistrationChallenge, for desired: DesiredRegistration
    ) async throws(ClientError) -> RegistrationProof? {
        guard try profile.database.store(desired.proved, ifRevision: desired.revision)
        else { return nil }
        environment.log(.registrationProof(bits: challenge.bits))
        let search = ProofSearch(challenge, desired.instanceToken)
        self.search = search
        defer { self.search = nil }
        let uptime = environment.uptime
        let end = uptime() + min(.seconds(challenge.seconds), ProofSearch.longest)
        let proof = await search.run { uptime() >= end }
        guard !Task.isCancelled else { throw .cancelled }
        return try self.desired()?.revision == desired.revision ? proof : nil
    }

    private func conclude(
        _ answer: Reconciler.Answer, _ failure: ClientError?, for desired: DesiredRegistration
    ) throws(ClientError) {
        let now = environment.wallSeconds()
        let next = Reconciler.apply(answer, to: desired, now: now, random: environment.randomUnit())
        let isCurrent = try profile.database.store(next, ifRevision: desired.revision)
        restart = nil
        guard isCurrent else { return }
        self.failure = failure
        if let failure {
            let wait = Int((next?.notBefore ?? now) - now)
            environment.log(.registrationFailed(failure, retrySeconds: wait))
        } else {
            environment.log(next == nil ? .unregistered : .registered)
        }
        switch answer {
        case .refused(let status):
            try profile.warnOnce(.refused, .registrationRefused(status: status))
        case .acknowledged: try profile.warnOnce(.refused, nil)
        case .failed: break
        }
    }

}

extension RegistrationState {
    init(_ desired: DesiredRegistration?, mayRegister: Bool, failure: ClientError?) {
        guard let desired else {
            self = .none
            return
        }
        let refusal =
            desired.refusedStatus <= 0
            ? nil : ClientError(registrationStatus: desired.refusedStatus, retryAfter: nil)
        let failure = failure ?? refusal
        self =
            switch desired.kind {
            case .absent: .unregistering(failure: failure)
            case .registered where desired.isAcknowledged: .registered
            case .registered where desired.isProved: .proving
            case .registered: mayRegister ? .registering(failure: failure) : .suspended
            }
    }
}
