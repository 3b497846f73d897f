import WakeFeed
import WakeFetch
import WakeModel
package import WakeSystem

/// A client that turns wakes into local checks. Every wake (event stream, platform push, timer)
/// starts the same cycle: fetch the signed feed that all clients fetch, check it against secrets
/// that never leave the device, and deliver matches to the local user alone.
/// ```swift
/// let configuration = ClientConfiguration(
///     feed: feed, feedKey: key, service: service, channel: .stream,
///     stateDirectory: directory + "/state", cacheDirectory: directory + "/cache")
/// let secrets = SecretDirectory(stateDirectory: configuration.stateDirectory)
/// let client = try WakeClient(configuration, secrets: secrets) { match in
///     print("this concerns you: \(match.secretID)")
/// } onWarning: { warning in
///     print(warning)
/// }
/// try await client.run()
/// ```
/// Two closures receive matches and warnings, or a ``MatchHandler``, or loops over ``events``.
///
/// An app that the system wakes for each push calls ``synchronize(_:)`` instead. An app with data
/// of its own brings a ``DataSource`` instead of the feed. All state is in the state directory: the
/// process may be killed at any moment. A second process is refused as `locked`.
///
/// The actor joins `PendingWakes`, `EventStream`, `CycleScheduler`, `CycleRunner`, `Outbox`,
/// `RegistrationKeeper` and `ProfileState`, each described at its type.
public actor WakeClient {
    let profile: ProfileState
    let registration: RegistrationKeeper
    let outbox: Outbox
    let environment: ClientEnvironment
    let executor: any SerialExecutor

    let transport: any ClientTransport
    private let sharesOrigin: Bool
    /// nil when the client only polls.
    private let stream: EventStream?
    let wakes = PendingWakes()
    private let scheduler: CycleScheduler
    private let runner: CycleRunner
    private let source: any CycleSource
    /// The position of a client that has seen nothing yet.
    private let start: FeedRecord.Position
    /// Signalled when `status` may differ. One waiter at a time.
    package nonisolated let statusChange = AsyncEvent()
    /// Signalled when another process says that it changed something of the profile, while `run`
    /// runs. One waiter at a time.
    package nonisolated let profileChange = AsyncEvent()
    /// Signalled when `status` may differ, or something waits for its delivery.
    nonisolated let change: ChangeSignal
    /// What loops over `events` gave back.
    nonisolated let returned: ReturnedEvents
    private var runningSince: Int64?
    /// The runs that have ended, and whether the newest did so before it was cancelled.
    private var runs = (ended: 0, newestEndedItself: false)
    /// Calls of `check` that have not closed their connections.
    private var checks = 0
    var isRunning: Bool { runningSince != nil }

    /// See the public initialisers.
    init(
        at service: ServiceAddresses, gatewayKeys: GatewayKeys? = nil,
        channel: ClientConfiguration.Channel,
        proxy: ClientConfiguration.Proxy?, stateDirectory: String, start: FeedRecord.Position,
        handler: (any MatchHandler)?, environment: ClientEnvironment,
        makeSource: (ProfileState, RegistrationKeeper, any ClientTransport) -> any CycleSource
    ) throws(ClientError) {
        change = ChangeSignal()
        change.add(statusChange)
        let environment = environment.signalling(change)
        self.environment = environment
        executor = environment.executor()
        sharesOrigin = service.sharesOrigin
        let transport = try environment.makeTransport(through: proxy)
        self.transport = transport
        self.start = start
        profile = try ProfileState(stateDirectory, start: start, in: environment)
        gatewayKeys?.name(profile.record.cursor.settings.gatewayKeys)
        registration = RegistrationKeeper(
            profile, at: service, through: try service.carrier(gatewayKeys, over: transport),
            in: environment)
        try registration.moveToConfiguredService()
        source = makeSource(profile, registration, transport)
        returned = ReturnedEvents(change, profile.outboxEvent)
        outbox = Outbox(
            profile, handler: handler, returned: returned,
            hidesSequence: source is AppSourceCycle, in: environment)
        runner = CycleRunner(source, profile, outbox, in: environment)
        if gatewayKeys != nil { registration.renewsHeads(by: runner) }
        scheduler = CycleScheduler(
            profile, runner: runner, outbox: outbox, wakes: wakes, in: environment)
        let url = channel == .stream ? service.wakes : nil
        stream = url.map { EventStream($0, through: transport, in: environment) }
    }

    // MARK: Running

    /// Listens, polls, keeps the registration as desired and delivers matches, until the task is
    /// cancelled (then it returns) or the feed is retired and nothing is left to unregister.
    /// - Throws: `state` when the state can no longer be used; `locked` when it runs already.
    public func run() async throws(ClientError) {
        guard !isRunning else { throw .locked }
        runningSince = environment.wallSeconds()
        var hasEndedItself = true
        defer {
            runningSince = nil
            runs.ended += 1
            runs.newestEndedItself = hasEndedItself
            change.signal()
        }
        try registration.shortenWait()
        environment.log(.started)
        defer { environment.log(.stopped) }
        let events = [wakes.event, registration.event, outbox.event, profileChange]
        let control = ControlSocket(of: self, in: profile.directory.path) {
            for event in events { event.signal() }
        }
        defer { control?.close() }
        let late = [scheduler.resumed, stream?.resumed, registration.event].compactMap(\.self)
        let stopObserving = environment.resumes.start { for event in late { event.signal() } }
        defer { stopObserving() }
        if let failure = await onTaskExecutor({ await runTasks() }) { throw failure }
        hasEndedItself = !Task.isCancelled
    }

    private func runTasks() async -> ClientError? {
        await withTaskGroup(of: ClientError?.self) { group in
            group.addTask { await self.keepCycling() }
            group.addTask { await self.poll() }
            group.addTask { await self.keepRegistered() }
            group.addTask { await self.keepDelivering() }
            if stream != nil { group.addTask { await self.listen() } }
            let failure = await group.next()
            group.cancelAll()
            return failure ?? nil
        }
    }

    /// Repeats `step` until true or cancelled; any fault of the state but a full disk ends the run.
    private func repeated(_ step: () async throws(ClientError) -> Bool) async -> ClientError? {
        while !Task.isCancelled {
            do throws(ClientError) {
                if try await step() { return nil }
            } catch {
                switch error {
                case .cancelled: continue
                case .diskFull:
                    outbox.reportFullDisk()
                    await environment.sleep(.seconds(60))
                default: return error
                }
            }
        }
        return nil
    }

    private func keepCycling() async -> ClientError? {
        await repeated { () async throws(ClientError) in
            // After a cycle the feed may allow or forbid registrations, or be retired.
            if try await scheduler.runNextCycle() {
                registration.event.signal()
                change.signal()
            }
            return false
        }
    }

    private func keepRegistered() async -> ClientError? {
        await repeated { () async throws(ClientError) in
            let isOver = try await registration.reconcileAndWait()
            if isOver { try await outbox.deliverLast() }
            return isOver
        }
    }

    /// A cycle in which something is found goes on first: what an app does on a match must show in
    /// none of its requests.
    private func keepDelivering() async -> ClientError? {
        // The first cycle of a run begins at once.
        await runner.waitForCycle(isDue: true, atMost: .seconds(30))
        return await repeated { () async throws(ClientError) in
            await runner.waitForCycle(atMost: .seconds(30))
            try await outbox.deliver()
            change.signal()
            try await outbox.waitForNext()
            return false
        }
    }

    private func poll() async -> ClientError? {
        await scheduler.poll()
        return nil
    }

    private func listen() async -> ClientError? {
        let isOfFeed = source is FeedCycle
        await stream?.listen { item, isFirst in
            scheduler.receive(item.event, at: item.time, isFirst: isFirst, isOfFeed: isOfFeed)
        }
        return nil
    }

    // MARK: Cycles

    /// Checks what is published now, closes every connection of the check, and then delivers the
    /// matches: nothing on the line depends on them. After a push or a wake it first waits a random
    /// time of up to the spread. Calls while a cycle runs share the next one.
    /// - Throws: the failure of the cycle. Matches found before it are delivered all the same.
    @discardableResult
    public func synchronize(
        _ reason: SyncReason = .manual
    ) async throws(ClientError) -> SyncOutcome {
        try await onTaskExecutor { () async throws(ClientError) in
            try await checkAndDeliver(reason)
        }
    }

    private func checkAndDeliver(
        _ reason: SyncReason
    ) async throws(ClientError) -> SyncOutcome {
        let outcome: SyncOutcome
        do throws(ClientError) {
            outcome = try await check(reason)
        } catch {
            if error != .cancelled { try? await deliver() }
            throw error
        }
        try await deliver()
        return outcome
    }

    /// The first part of `synchronize`: delivers nothing.
    package func check(
        _ reason: SyncReason = .manual
    ) async throws(ClientError) -> SyncOutcome {
        checks += 1
        defer {
            checks -= 1
            change.signal()
        }
        guard try scheduler.isListening(to: reason) else { return .ignored }
        try registration.noteSuspension()
        do throws(ClientError) {
            let outcome = try await scheduler.runCycle(for: reason)
            await endConnections()
            return outcome
        } catch {
            if error == .diskFull { outbox.reportFullDisk() }
            await endConnections()
            throw error
        }
    }

    private func endConnections() async {
        // Beside `run` a connection may serve further cycles, and ends at some time after the last.
        if !isRunning { await transport.quiesce(.feed) }
    }

    /// The second part: delivers what is due.
    package func deliver() async throws(ClientError) {
        defer { change.signal() }
        try await outbox.deliver()
    }

    /// Requests one cycle of `run`, from any thread, and returns at once; `synchronize(_:)` waits
    /// for the outcome. Kept until `run` begins. All calls before that cycle are one; calls while a
    /// cycle runs ask for one more. `push` and `wake` wait at random for up to the spread, and are
    /// dropped while the publisher has wakes paused or after `unregister`; other reasons begin at
    /// once.
    public nonisolated func wake(_ reason: SyncReason = .push) {
        wakes.add(reason, at: environment.uptime())
    }

    /// Checks the retained batches, or what a `DataSource` keeps, again if the app has more to
    /// search for since the last time. Makes no request; returns the number of new matches.
    @discardableResult
    public func recheckRetained() async throws(ClientError) -> Int {
        defer { change.signal() }
        return try await onTaskExecutor { () async throws(ClientError) in
            try await runner.recheckRetained()
        }
    }

    // MARK: Events

    func nextEvent(for subscriber: EventSubscriber) async -> ClientEvent? {
        subscriber.setBusy(false)
        let event = await onTaskExecutor { await waitForEvent(for: subscriber) }
        if event != nil { subscriber.setBusy(true) }
        return event
    }

    private func waitForEvent(for subscriber: EventSubscriber) async -> ClientEvent? {
        let endedBefore = subscriber.runsEndedBefore(runs.ended)
        if let warning = subscriber.takeWarning() {
            // A loop that is cancelled may not have come to its end.
            outbox.end(warning: warning, isHandled: !Task.isCancelled)
        }
        while !Task.isCancelled {
            // The next run is for the loops that begin for it.
            if isRunning, runs.ended > endedBefore { return nil }
            let status = status
            if !subscriber.hasStatus, subscriber.takes(status) { return .status(status) }
            let wait = deliveryWait(of: subscriber)
            if wait == nil, let event = outbox.nextEvent(for: subscriber, of: self) {
                return event
            }
            if subscriber.takes(status) { return .status(status) }
            // After a run that was cancelled, a loop may begin before the next run does.
            if wait == nil, !isRunning, runs.newestEndedItself || runs.ended > endedBefore {
                return nil
            }
            await subscriber.changed.wait(for: wait ?? outbox.nextWait, in: environment)
        }
        return nil
    }

    /// The time for which requests keep matches back: what an app does on a match must show in none
    /// of them.
    private func deliveryWait(of subscriber: EventSubscriber) -> Duration? {
        guard isRunning else { return checks > 0 ? .seconds(3600) : nil }
        guard runner.isCycling else { return nil }
        return subscriber.hold(for: runner.cyclesBegun, now: environment.uptime())
    }

    func end(_ id: MatchID, _ end: DeliveryTicket.End) async {
        do throws(ClientError) {
            try await outbox.end(id, end)
        } catch {
            // It is recorded when there is room.
            if error == .diskFull { outbox.reportFullDisk() }
        }
        change.signal()
    }

    // MARK: Status

    /// The client's knowledge about itself.
    public var status: ClientStatus {
        let now = environment.wallSeconds()
        return ClientStatus(
            record: profile.record, head: profile.accepted?.head,
            registration: (try? registration.state()) ?? .none,
            formerServices: (try? registration.formerServices()) ?? 0,
            matchesToDeliver: outbox.count, now: now, sharesOrigin: sharesOrigin,
            quota: source.quota, failure: runner.failure, runningSince: runningSince,
            stream: stream?.state, streamCutAfter: stream?.cutAfter,
            nextCheck: scheduler.nextStart.map { start in
                now + max(.zero, start - environment.uptime()).wholeSeconds
            })
    }

    /// Begins the feed again, the way out of a fork: the history that is served now is checked from
    /// its oldest batch. Secrets, registration, matches and evidence stay.
    public func startOver() async throws(ClientError) {
        try await runner.exclusively { () async throws(ClientError) in
            try profile.restart(now: environment.wallSeconds())
        }
    }

    /// Erases state, cache and evidence. Refused as `locked` while `run` runs, which would begin
    /// everything again at once: cancel it, wait for its end, and erase then. Without `force`
    /// refused as `stillRegistered` while the service may hold a registration, which could then
    /// never be erased.
    public func erase(force: Bool = false) async throws(ClientError) {
        try await runner.exclusively { () async throws(ClientError) in
            guard !isRunning else { throw .locked }
            let former = try registration.formerServices()
            let desired = try registration.desired()
            guard force || desired == nil && former == 0 else { throw .stillRegistered }
            try profile.erase(start: start, now: environment.wallSeconds())
            source.eraseCache()
            outbox.reset()
            runs.newestEndedItself = false
        }
    }
}
