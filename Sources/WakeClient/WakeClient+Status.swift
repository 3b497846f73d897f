import WakeFeed
import WakeFiles

extension WakeClient {
    /// What the client knows about itself.
    public var status: ClientStatus {
        ClientStatus(
            record: record, registration: (try? registrationState()) ?? .none,
            matchesToTell: (try? state.countToTell()) ?? 0, now: environment.wallSeconds(),
            sharesOrigin: service.sharesOrigin, isStreaming: isStreaming, failure: lastFailure,
            budget: budget)
    }

    private var budget: DataBudget? {
        guard case .feed(let feed) = source else { return nil }
        return feed.configuration.dailyByteBudget.flatMap { try? state.budget(limit: $0) }
    }

    func registrationState() throws(ClientError) -> RegistrationState {
        let wish = try clientError { () throws(StateError) in try state.wish() }
        return RegistrationState(
            wish, mayRegister: record.orders.mayRegister, failure: registrationFailure)
    }

    /// Forgets everything about this profile: state, cache, evidence.
    /// - Parameter force: also when the service may still hold a registration that could then
    ///   never be erased by its owner; without it that is refused as `stillRegistered`.
    public func erase(force: Bool = false) async throws(ClientError) {
        await beginChecking()
        defer { endChecking() }
        let wish = try clientError { () throws(StateError) in try state.wish() }
        guard force || wish == nil else { throw .stillRegistered }
        try clientError { () throws(StateError) in try state.eraseAll() }
        for name in (try? Files.names(in: directory.path)) ?? []
        where name.hasPrefix("evidence-") || name.contains(".damaged-") {
            try? Files.remove(directory.path + "/" + name)
        }
        if case .feed(let feed) = source { feed.cache.erase() }
        toldUnnoted = []
        record = FeedRecord(
            position: source.start, watch: Watch(start: environment.wallSeconds()))
    }
}

extension RegistrationState {
    init(_ wish: RegistrationWish?, mayRegister: Bool, failure: ClientError?) {
        guard let wish else {
            self = .none
            return
        }
        let failure =
            failure
            ?? (wish.refusedStatus <= 0
                ? nil : ClientError(registrationStatus: wish.refusedStatus, retryAfter: nil))
        self =
            switch wish.kind {
            case .absent: .unregistering(failure: failure)
            case .registered where wish.isAcknowledged: .registered
            case .registered: mayRegister ? .registering(failure: failure) : .suspended
            }
    }
}

extension ClientStatus {
    init(
        record: FeedRecord, registration: RegistrationState, matchesToTell: Int, now: Int64,
        sharesOrigin: Bool, isStreaming: Bool, failure: ClientError?,
        budget: DataBudget?
    ) {
        self.registration = registration
        sequence = record.sequence
        lastVerified = record.watch.hasVerified ? record.watch.verified : nil
        self.matchesToTell = matchesToTell
        pausedUntil = record.orders.pausedUntil(now: now)
        isRetired = record.orders.isRetired
        isForked = record.isForked
        self.sharesOrigin = sharesOrigin
        self.isStreaming = isStreaming
        self.failure = failure
        batchesWaiting = budget?.waiting ?? 0
        waitingUntil = batchesWaiting > 0 ? budget?.nextDay : nil
    }
}
