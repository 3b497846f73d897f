import WakeFetch
import WakeModel

// Registration is a wish that is written down first and brought about until the service
// acknowledged it, across restarts.

extension WakeClient {
    /// Wishes that the service holds this push token under this client's instance token, and tries
    /// once. `run` keeps trying, and renews.
    public func register(_ token: PushToken) async throws(ClientError) -> RegistrationState {
        guard service.registration != nil else { throw .configuration(.serviceMissing) }
        let environment = environment
        _ = try clientError { () throws(StateError) in
            try state.supersede(
                .registered(token.wire), newToken: Self.newInstanceToken(environment))
        }
        registrationFailure = nil
        return try await reconcileNow()
    }

    /// Wishes that the service holds nothing about this client, and tries once. `run` keeps
    /// trying; once the service acknowledged it, no byte of the instance token is left here.
    public func unregister() async throws(ClientError) -> RegistrationState {
        let environment = environment
        _ = try clientError { () throws(StateError) in
            // First: an endpoint that comes meanwhile is not registered again.
            try state.dropDistributor()
            return try state.supersede(.absent, newToken: Self.newInstanceToken(environment))
        }
        registrationFailure = nil
        return try await reconcileNow()
    }

    /// Asks the service for everything it holds about this client.
    public func storedRegistration() async throws(ClientError) -> StoredRegistration {
        guard let url = service.registration else { throw .configuration(.serviceMissing) }
        let wish = try clientError { () throws(StateError) in try state.wish() }
        guard let wish else { throw .notRegistered }
        return try await Self.storedRegistration(of: wish.instanceToken, at: url, by: transport)
    }

    static func storedRegistration(
        of instance: InstanceToken, at url: FetchURL, by transport: any ClientTransport
    ) async throws(ClientError) -> StoredRegistration {
        let request = RegistrationRequest.get(by: instance, at: url)
        let body = BoundedBody(limit: request.limit)
        let response: FetchResponse
        do throws(FetchError) {
            response = try await transport.fetch(
                request, onHead: { _ in .proceed }, sink: { body.append($0) })
        } catch {
            throw ClientError(error)
        }
        guard response.status == 200 else {
            throw .httpStatus(response.status, retryAfter: response.retryAfter)
        }
        do {
            return StoredRegistration(try RegistrationAnswer.decode(body.take()))
        } catch {
            throw .protocolViolation
        }
    }

    static func newInstanceToken(_ environment: ClientEnvironment) -> InstanceToken {
        while true {
            var bytes = environment.randomBytes(InstanceToken.byteCount)
            defer { wipe(&bytes) }
            // Fewer than 8 distinct bytes happen once in 2^130.
            if let token = InstanceToken(bytes) { return token }
        }
    }

    // MARK: Bringing it about

    /// Takes the step that is due, and tells what came of it at once: for who looks and ends.
    package func reconcileAndTell() async throws(ClientError) {
        try await reconcile()
        try await tell()
    }

    /// The caller of `register` has said himself what came of it: it is not told once more.
    package func dropRefusalWarning() throws(ClientError) {
        try clientError { () throws(StateError) in try state.dropRefusalWarnings() }
    }

    /// Cuts the wait that an earlier process left behind; see `Reconciler.restart`.
    func shortenRegistrationWait() throws(ClientError) {
        let wish = try clientError { () throws(StateError) in try state.wish() }
        guard let wish, Reconciler.shortensWait(of: wish), wish.failures > 0 else { return }
        registrationRestart =
            environment.wallSeconds() + Int64(Reconciler.restart * environment.randomUnit())
    }

    private func reconcileNow() async throws(ClientError) -> RegistrationState {
        registrationBell.ring()
        try await reconcile()
        return try registrationState()
    }

    /// Takes the step that is due, if any. One at a time; a second call returns at once.
    /// - Returns: seconds since 1970 of the next step; nil for none.
    @discardableResult
    package func reconcile() async throws(ClientError) -> Int64? {
        if state.needsScrub { try clientError { () throws(StateError) in try state.scrub() } }
        while true {
            let wish = try clientError { () throws(StateError) in try state.wish() }
            let step = Reconciler.step(
                wish, now: environment.wallSeconds(), mayRegister: record.orders.mayRegister,
                restart: registrationRestart)
            switch step {
            case .rest: return nil
            case .wait(let time): return time
            case .put, .delete:
                guard let wish, let url = service.registration else { return nil }
                guard !isReconciling else {
                    wasTurnedAway = true
                    return nil
                }
                isReconciling = true
                defer {
                    isReconciling = false
                    // Whoever was turned away knows of no next time: let it look again.
                    if wasTurnedAway { registrationBell.ring() }
                    wasTurnedAway = false
                }
                try await attempt(wish, at: url)
            }
        }
    }

    private func attempt(
        _ wish: RegistrationWish, at url: FetchURL
    ) async throws(ClientError) {
        let request =
            switch wish.kind {
            case .registered(let token):
                RegistrationRequest.put(token, by: wish.instanceToken, at: url)
            case .absent: RegistrationRequest.delete(by: wish.instanceToken, at: url)
            }
        let answer: Reconciler.Answer
        var failure: ClientError?
        do throws(FetchError) {
            let response = try await transport.fetch(
                request, onHead: { _ in .proceed }, sink: { _ in .proceed })
            answer = Reconciler.answer(
                status: response.status, retryAfter: response.retryAfter)
            if answer != .acknowledged {
                failure = ClientError(
                    registrationStatus: response.status, retryAfter: response.retryAfter)
            }
        } catch {
            // Whether the service got it is unknown; the next attempt carries the same token.
            guard error != .cancelled else { throw .cancelled }
            failure = ClientError(error)
            answer = .failed(retryAfter: nil)
        }
        try conclude(answer, failure, for: wish)
    }

    private func conclude(
        _ answer: Reconciler.Answer, _ failure: ClientError?, for wish: RegistrationWish
    ) throws(ClientError) {
        let now = environment.wallSeconds()
        let next = Reconciler.apply(
            answer, to: wish, now: now, random: environment.randomUnit())
        let isCurrent = try clientError { () throws(StateError) in
            try state.store(next, ifRevision: wish.revision)
        }
        registrationRestart = nil
        guard isCurrent else { return }
        registrationFailure = failure
        if let failure {
            let wait = Int((next?.notBefore ?? now) - now)
            environment.log(.registrationFailed(failure, retrySeconds: wait))
        } else {
            environment.log(next == nil ? .unregistered : .registered)
        }
        try warnOfRefusal(answer)
    }

    private func warnOfRefusal(_ answer: Reconciler.Answer) throws(ClientError) {
        var next = record
        if case .refused(let status) = answer {
            guard !record.warned.contains(.refused) else { return }
            next.warned.insert(.refused)
            try save(next, warnings: [.registrationRefused(status: status)], as: .feed)
        } else if answer == .acknowledged, record.warned.contains(.refused) {
            next.warned.remove(.refused)
            try save(next, as: .feed)
        }
    }

    /// The feed has ended: give up the registration, and say so once.
    func retire() throws(ClientError) {
        let environment = environment
        let wish = try clientError { () throws(StateError) in try state.wish() }
        if let wish, wish.kind != .absent {
            _ = try clientError { () throws(StateError) in
                try state.supersede(.absent, newToken: Self.newInstanceToken(environment))
            }
            registrationBell.ring()
        }
        guard !record.warned.contains(.retired) else { return }
        var next = record
        next.warned.insert(.retired)
        try save(next, warnings: [.retired], as: .feed)
    }
}
