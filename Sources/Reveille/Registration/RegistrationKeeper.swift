import WakeFetch
import WakeModel
import WakeSystem

/// The registration with the service: stored as desired, then brought about, across restarts.
final class RegistrationKeeper {
    private let profile: ProfileState
    private let service: ServiceAddresses
    private let transport: any ClientTransport
    private let environment: ClientEnvironment
    /// Renews the head, which names the key that requests are encapsulated for; nil where they are
    /// not, and once the client is gone.
    private weak var heads: CycleRunner?
    /// Signalled when there may be a step to take.
    let event = AsyncEvent()

    private var isReconciling = false { didSet { signalTurns() } }
    private var isLeaving = false { didSet { signalTurns() } }
    /// Of the calls that wait for their turn.
    private var turns: [AsyncEvent] = []
    /// Another call came while one reconciled.
    private var wasRefused = false
    /// The proof of work that is computed.
    private var search: ProofSearch?
    /// The first attempt after the start is made at this time at the latest.
    private var restart: Int64?
    /// The time of the steps that are kept apart from fetches, by the clock of uptime; nil while
    /// none is due.
    private var separationEnd: Duration?
    /// The feed switched registrations off, or ended: what is due is so for all clients at once.
    private var isDirected = false

    init(
        _ profile: ProfileState, at service: ServiceAddresses,
        through transport: any ClientTransport, in environment: ClientEnvironment
    ) {
        self.profile = profile
        self.service = service
        self.transport = transport
        self.environment = environment
    }

    /// Lets a request renew the head when there is no key for it.
    func renewsHeads(by runner: CycleRunner) { heads = runner }

    func desired() throws(ClientError) -> DesiredRegistration? {
        try profile.database.registration()
    }

    func state() throws(ClientError) -> RegistrationState {
        RegistrationState(
            try desired(), at: address, formerServices: try formerServices(),
            mayRegister: profile.record.directives.mayRegister)
    }

    /// The services of earlier configurations that may still hold a registration.
    func formerServices() throws(ClientError) -> Int {
        try profile.database.formerRegistrationCount()
    }

    private var address: [UInt8]? { service.registration?.bytes }

    /// Parts with the service of an earlier configuration: an instance token is for one service.
    func moveToConfiguredService() throws(ClientError) {
        try profile.database.moveRegistration(
            to: address, now: environment.wallSeconds(), newToken: environment.newInstanceToken())
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
            isDirected = true
            try replace(.absent)
        }
        try profile.warnOnce(.retired, .retired)
    }

    func setDesired(_ kind: DesiredRegistration.Kind) throws(ClientError) {
        isDirected = false
        try replace(kind)
        search?.stop()
    }

    private func replace(_ kind: DesiredRegistration.Kind) throws(ClientError) {
        try profile.database.replaceRegistration(
            kind, at: address ?? [], now: environment.wallSeconds(),
            newToken: environment.newInstanceToken())
        event.signal()
    }

    func held() async throws(ClientError) -> HeldRegistration {
        guard let url = service.registration else { throw .configuration(.serviceMissing) }
        guard let desired = try desired(), desired.address == address else {
            throw .notRegistered
        }
        let token = desired.instanceToken
        do throws(ClientError) {
            return try await HeldRegistration(of: token, at: url, through: transport)
        } catch {
            guard error == .gatewayKey, let heads else { throw error }
            try await heads.renewHead()
            return try await HeldRegistration(of: token, at: url, through: transport)
        }
    }

    /// Asks for one push to the registered push token.
    func askForPush() async throws(ClientError) {
        guard let url = service.testPush else { throw .configuration(.serviceMissing) }
        guard let desired = try desired(), desired.address == address, desired.isAcknowledged,
            case .registered = desired.kind
        else { throw .notRegistered }
        let request = RegistrationRequest.testPush(by: desired.instanceToken, at: url)
        do throws(ClientError) { _ = try await transport.body(of: request) } catch {
            guard error == .httpStatus(202, retryAfter: nil) else { throw error }
        }
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
        let next = try await reconcileApart()
        let record = profile.record
        if record.directives.isRetired, record.warned.contains(.retired), try desired() == nil,
            try formerServices() == 0
        {
            return true
        }
        await event.wait(for: environment.wait(until: next), in: environment)
        return false
    }

    // MARK: Separation

    /// The longest time by which a registration is kept apart from fetches: who sees both must not
    /// join them by their times.
    static let longestSeparation = Duration.seconds(600)

    /// The rest of the random wait before the steps that are due; nil when none is due, or one is
    /// that somebody asked for and that is not acknowledged yet: that is taken at once.
    func separation() throws(ClientError) -> Duration? {
        guard try isSeparated() else {
            separationEnd = nil
            return nil
        }
        let now = environment.uptime()
        let end = separationEnd ?? now + Self.longestSeparation * environment.randomUnit()
        separationEnd = end
        return end > now ? end - now : nil
    }

    private func isSeparated() throws(ClientError) -> Bool {
        let now = environment.wallSeconds()
        let former = try profile.database.formerRegistrations().filter {
            Reconciler.step($0, now: now, mayRegister: false) == .delete
        }
        let desired = try desired()
        let step = Reconciler.step(
            desired, now: now, mayRegister: profile.record.directives.mayRegister, restart: restart)
        try noteSuspension()
        guard let desired, step == .put || step == .delete else { return !former.isEmpty }
        // A renewal; a move to another service, whose first step is the erasure at the old one; or
        // what the feed decides for all clients.
        return desired.isAcknowledged || isDirected || former.contains { $0.failures == 0 }
    }

    /// While the feed has registrations switched off, which it may end with its next head.
    func noteSuspension() throws(ClientError) {
        let isSuspended = !profile.record.directives.mayRegister
        if isSuspended, try desired()?.token != nil { isDirected = true }
    }

    /// As `reconcile`, after the random wait of steps that are kept apart from fetches.
    @discardableResult
    func reconcileApart() async throws(ClientError) -> Int64? {
        if profile.database.needsScrub { try profile.database.scrub() }
        if let wait = try separation() { return environment.wallSeconds() + wait.wholeSeconds }
        let isLate = separationEnd != nil
        defer { if isLate { (separationEnd, isDirected) = (nil, false) } }
        return try await reconcile()
    }

    /// As `reconcile`, after the call that takes the steps meanwhile, such as that of `run`: who
    /// asked is told what came of it. The app's code within that call cannot wait for its end.
    func reconcileInTurn() async throws(ClientError) {
        while isLeaving || isReconciling, !AppCaller.isInCall {
            let turn = AsyncEvent()
            turns.append(turn)
            await turn.wait()
            guard !Task.isCancelled else { throw .cancelled }
        }
        try await reconcile()
    }

    private func signalTurns() {
        guard !isLeaving, !isReconciling else { return }
        for turn in turns { turn.signal() }
        turns = []
    }

    /// Takes the step that is due, if any. One at a time; a second call returns at once.
    /// - Returns: seconds since 1970 of the next step; nil for none.
    @discardableResult
    func reconcile() async throws(ClientError) -> Int64? {
        if profile.database.needsScrub { try profile.database.scrub() }
        // First: an old service is to hold the device's row no longer than it must.
        let former = try await leaveFormerServices()
        return [former, try await reconcileDesired()].compactMap(\.self).min()
    }

    /// Takes the steps that are due with services of earlier configurations; see `reconcile`.
    private func leaveFormerServices() async throws(ClientError) -> Int64? {
        guard !isLeaving, !isReconciling else {
            // A PUT under way to one of them must not be overtaken.
            wasRefused = true
            return nil
        }
        isLeaving = true
        defer { isLeaving = false }
        try profile.database.dropExpiredRegistrations(now: environment.wallSeconds())
        var times: [Int64] = []
        for former in try profile.database.formerRegistrations() {
            let now = environment.wallSeconds()
            if case .wait(let time) = Reconciler.step(former, now: now, mayRegister: false) {
                times.append(time)
                continue
            }
            guard let url = try? FetchURL(former.address) else { throw .corruptRow }
            let sent = try await send(former, nil, at: url)
            let end = environment.wallSeconds()
            let next = Reconciler.apply(
                sent.answer, to: former, now: end, random: environment.randomUnit())
            try profile.database.storeFormer(next, of: former)
            if let next, let failure = sent.failure {
                times.append(next.notBefore)
                let wait = Int(next.notBefore - end)
                environment.log(.registrationFailed(failure, retrySeconds: wait))
            } else {
                environment.log(.unregistered)
            }
            // Another caller may have been turned away meanwhile.
            event.signal()
        }
        return times.min()
    }

    private func reconcileDesired() async throws(ClientError) -> Int64? {
        while true {
            let desired = try desired()
            let step = Reconciler.step(
                desired, now: environment.wallSeconds(),
                mayRegister: profile.record.directives.mayRegister, restart: restart)
            switch step {
            case .rest: return nil
            case .wait(let time): return time
            case .put, .delete:
                // Of a process with a newer configuration: left to the next start.
                guard let desired, let url = service.registration, desired.address == url.bytes
                else { return nil }
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
        if sent.failure == .gatewayKey, let heads {
            // No head was seen yet, or one before the gateway's key was replaced.
            do throws(ClientError) {
                try await heads.renewHead()
            } catch {
                guard error != .cancelled else { throw .cancelled }
                return try conclude(.failed(retryAfter: nil), error, for: desired)
            }
            // A renewal is kept apart from fetches: it waits once more.
            if desired.isAcknowledged {
                return try conclude(.failed(retryAfter: nil), .gatewayKey, for: desired)
            }
            try noteSuspension()
            // The head may switch registrations off, and the app may desire something else by now.
            guard desired.kind == .absent || profile.record.directives.mayRegister,
                try self.desired()?.revision == desired.revision
            else { return }
            sent = try await send(desired, nil, at: url)
        }
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
            return Sent(
                answer: .failed(retryAfter: error.retryAfter), failure: ClientError(error))
        }
    }

    /// Works for a proof; nil when it was not found in time, or is not desired any more.
    private func prove(
        _ challenge: RegistrationChallenge, for desired: DesiredRegistration
    ) async throws(ClientError) -> RegistrationProof? {
        guard try profile.database.store(desired.solvingChallenge, ifRevision: desired.revision)
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
        var next = Reconciler.apply(answer, to: desired, now: now, random: environment.randomUnit())
        next?.failure = failure
        let isCurrent = try profile.database.store(next, ifRevision: desired.revision)
        restart = nil
        guard isCurrent else { return }
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
