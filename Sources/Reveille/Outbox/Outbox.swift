import ReveilleHandlers
import WakeFeed
import WakeSystem

/// Delivery to the app: at least once, in the order found, with a back-off per match. A handler is
/// called; loops over events ask.
///
/// To record a delivery and to wipe the match takes time that the line must not show. While a cycle
/// runs, neither happens; at the end of the cycle both do, at the same place in every case.
final class Outbox {
    private let profile: ProfileState
    /// nil when loops over events receive matches and warnings.
    private let handler: (any MatchHandler)?
    private let queue: EventQueue
    /// The handler may block, or take long.
    private let app: AppCaller
    private let environment: ClientEnvironment
    /// Matches of an app's own source bear no number of a batch; see `AppSourceCycle`.
    private let hidesSequence: Bool

    private var isDelivering = false
    /// Signalled when a delivery has ended.
    private let ended = AsyncEvent()
    private(set) var isCycling = false
    /// Callers that acknowledged a match during the running cycle.
    private var waiters: [CheckedContinuation<Void, Never>] = []
    /// Only `confirm` records the deliveries to the handler.
    private var awaitsConfirmation = false
    /// Warnings that the state has no room for.
    private var unsavedWarnings: [Warning] = []

    init(
        _ profile: ProfileState, handler: (any MatchHandler)?, returned: ReturnedEvents,
        hidesSequence: Bool, in environment: ClientEnvironment
    ) {
        queue = EventQueue(profile, returned, in: environment)
        self.profile = profile
        self.handler = handler
        app = AppCaller(environment)
        self.hidesSequence = hidesSequence
        self.environment = environment
    }

    /// Signalled when there is something to deliver.
    var event: AsyncEvent { profile.outboxEvent }

    var count: Int { (try? profile.database.undeliveredCount()) ?? 0 }

    /// Waits until something is due, or something new is there.
    func waitForNext() async throws(ClientError) {
        // Loops over events wait for themselves.
        let next = handler == nil ? nil : try queue.nextDelivery()
        var wait = environment.wait(until: next)
        if profile.mayHaveTraces { wait = min(wait ?? .seconds(60), .seconds(60)) }
        await event.wait(for: wait, in: environment)
    }

    // MARK: Cycles

    func cycleBegan() { isCycling = true }

    func cycleEnded() {
        isCycling = false
        // On a full disk the records are tried again with the next delivery.
        try? settle()
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    /// Records the deliveries that have ended, and wipes the delivered matches from every file;
    /// while a cycle runs, its end does that. A reading process or a full disk may prevent it: then
    /// it is tried again with the next delivery, or in a minute.
    private func settle() throws(ClientError) {
        guard !isCycling else { return }
        defer { if profile.mayHaveTraces { profile.wipeTraces() } }
        if !awaitsConfirmation { try queue.record() }
    }

    /// Returns when the ended deliveries are recorded; a call from a handler does not wait for a
    /// cycle.
    private func settled() async throws(ClientError) {
        if isCycling, !AppCaller.isInCall { await withCheckedContinuation { waiters.append($0) } }
        try settle()
    }

    // MARK: Delivery

    /// Delivers what is due to the handler. One at a time; a second call returns at once.
    func deliver() async throws(ClientError) {
        guard !isDelivering else { return }
        isDelivering = true
        defer {
            isDelivering = false
            ended.signal()
        }
        // First: those of a full disk, on which nothing else can be recorded.
        while let handler, !unsavedWarnings.isEmpty, !Task.isCancelled {
            await deliver(unsavedWarnings.removeFirst(), to: handler)
        }
        try settle()
        guard let handler else { return }
        defer { if !isCycling, profile.mayHaveTraces { profile.wipeTraces() } }
        try await deliverWarnings(to: handler)
        try await deliverMatches(to: handler)
    }

    /// Delivers what is due after what another call delivers now has been handled. One call at a
    /// time, and none by a handler.
    func deliverLast() async throws(ClientError) {
        while isDelivering, !Task.isCancelled { await ended.wait() }
        try await deliver()
    }

    private func deliverWarnings(to handler: any MatchHandler) async throws(ClientError) {
        while !Task.isCancelled, let next = try queue.nextWarning() {
            await deliver(next.warning, to: handler)
            guard !Task.isCancelled else { return queue.giveBack(warning: next.id) }
            queue.confirm(warning: next.id)
        }
        try recordNow()
    }

    private func deliverMatches(to handler: any MatchHandler) async throws(ClientError) {
        while !Task.isCancelled, let match = try queue.nextMatch() {
            let start = environment.uptime()
            do {
                try await deliver(match, to: handler)
                queue.acknowledge(match.id)
            } catch {
                // A handler that was interrupted did not fail.
                guard !Task.isCancelled else { return queue.giveBack(match.id) }
                queue.postpone(match.id)
            }
            // A kill repeats one at most: while a cycle runs, the next one waits for its end.
            if isCycling, !awaitsConfirmation { try await settled() }
            // Deliveries that take long do not keep the notes of those before.
            if environment.uptime() - start > .seconds(1) { try settle() } else { try recordNow() }
        }
    }

    /// After each match: a kill repeats one at most.
    private func recordNow() throws(ClientError) {
        if !isCycling, !awaitsConfirmation { try queue.record() }
    }

    private func deliver(_ match: Match, to handler: any MatchHandler) async throws {
        let shown = shown(match)
        try await app.call { try await handler.didFind(shown) }.get()
    }

    private func deliver(_ warning: Warning, to handler: any MatchHandler) async {
        _ = await app.call { await handler.didWarn(warning) }
    }

    private func shown(_ match: Match) -> Match { hidesSequence ? match.with(sequence: 0) : match }

    func deferConfirmation() { awaitsConfirmation = true }

    func confirm() throws(ClientError) {
        defer { if profile.mayHaveTraces { profile.wipeTraces() } }
        try queue.record()
    }

    /// Records that the user was notified of a match by other means than the handler's return.
    /// - Returns: false when there is no such match.
    func acknowledge(_ id: MatchID) async throws(ClientError) -> Bool {
        guard let progress = try profile.database.progress(of: id) else { return false }
        guard !progress.isDelivered else { return true }
        queue.acknowledge(id)
        try await settled()
        return true
    }

    /// Makes all that waits for another attempt due now.
    func retryNow() throws(ClientError) {
        try profile.database.dropBackoffs()
        event.signal()
    }

    // MARK: Test

    /// Delivers a match that nobody published by the way of all others, and leaves nothing of it.
    func deliverTest() async throws(ClientError) -> Bool {
        guard let id = MatchID(bytes: environment.randomBytes(16)) else { return false }
        let test = Match(
            id: id, secretID: StateDatabase.testSecret,
            noteBytes: Array("This is a test: nothing was published.".utf8), sequence: 0)
        try profile.save(profile.record, matches: [test])
        defer {
            // A crash, or a full disk, leaves this to the next start.
            try? profile.database.dropTests(id)
            profile.noteTraces()
            try? settle()
        }
        return try await attemptTest(id)
    }

    private func attemptTest(_ id: MatchID) async throws(ClientError) -> Bool {
        // There may be no loop over events.
        let deadline = environment.uptime() + .seconds(60)
        while !Task.isCancelled {
            if handler == nil, environment.uptime() >= deadline { return false }
            try await deliver()
            guard let progress = try profile.database.progress(of: id) else { return false }
            if progress.isDelivered || progress.failures > 0 { return progress.isDelivered }
            // Another call delivers, or a cycle runs.
            await environment.sleep(.milliseconds(50))
        }
        throw .cancelled
    }

    // MARK: Warnings without room in the state

    /// Reports a full disk, once until a cycle succeeds.
    func reportFullDisk() {
        if profile.reportFullDisk() { deliverUnsaved(.diskFull) }
    }

    private func deliverUnsaved(_ warning: Warning) {
        unsavedWarnings.append(warning)
        event.signal()
    }

    func warnOfSilence() {
        let unsaved = profile.warnOfSilence(now: environment.wallSeconds())
        if let unsaved { deliverUnsaved(unsaved) }
    }

    /// Forgets what was delivered by this process, after the state was erased.
    func reset() { queue.reset() }

    // MARK: Events

    /// The next warning or match for a loop over events; nil when none waits.
    func nextEvent(for subscriber: EventSubscriber, of client: WakeClient) -> ClientEvent? {
        guard handler == nil else { return nil }
        try? settle()
        if !unsavedWarnings.isEmpty { return .warning(unsavedWarnings.removeFirst()) }
        // A fault of the state is reported by `run`.
        if let next = try? queue.nextWarning() {
            subscriber.hand(warning: next.id)
            return .warning(next.warning)
        }
        guard let match = try? queue.nextMatch(most: MatchDelivery.mostUnacknowledged) else {
            return nil
        }
        return .match(MatchDelivery(shown(match), DeliveryTicket(match.id, of: client)))
    }

    /// Ends a warning that a loop has handled, or takes it back.
    func end(warning id: Int64, isHandled: Bool) {
        guard isHandled else { return queue.giveBack(warning: id) }
        queue.confirm(warning: id)
        try? settle()
    }

    func end(_ id: MatchID, _ end: DeliveryTicket.End) async throws(ClientError) {
        defer { ended.signal() }
        switch end {
        case .acknowledged: queue.acknowledge(id)
        case .postponed: queue.postpone(id)
        }
        try await settled()
    }

    /// The time after which a loop over events looks again.
    var nextWait: Duration? {
        let next = try? queue.nextDelivery(most: MatchDelivery.mostUnacknowledged)
        guard handler == nil, let next else { return nil }
        return environment.wait(until: next)
    }
}
