import ReveilleHandlers
import WakeFeed
import WakeSystem

/// Delivery to the app: at least once, in the order found, with a back-off per match. A handler is
/// called; loops over events ask.
final class Outbox {
    private let profile: ProfileState
    /// nil when loops over events receive matches and warnings.
    private let handler: (any MatchHandler)?
    /// What such loops have.
    private let queue: EventQueue
    /// The handler may block, or take long.
    private let app: AppCaller
    private let environment: ClientEnvironment
    /// Matches of an app's own source bear no number of a batch; see `AppSourceCycle`.
    private let hidesSequence: Bool

    private var isDelivering = false
    /// Signalled when a delivery has ended.
    private let ended = AsyncEvent()
    /// Delivered by this process, and not yet recorded in the state.
    private var deliveredUnrecorded: Set<MatchID> = []
    /// Warnings that the state has no room for.
    private var unsavedWarnings: [Warning] = []
    /// Delivered, and recorded only by `confirm`; nil when every delivery is recorded at once.
    private var unconfirmed: [MatchID]?

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
        let next = handler == nil ? nil : try profile.database.nextDelivery()
        var wait = environment.wait(until: next)
        if profile.mayHaveTraces { wait = min(wait ?? .seconds(60), .seconds(60)) }
        await event.wait(for: wait, in: environment)
    }

    /// Delivers what is due to the handler, and leaves no byte of the name and the note of what was
    /// delivered. One at a time; a second call returns at once.
    func deliver() async throws(ClientError) {
        guard !isDelivering else { return }
        isDelivering = true
        defer {
            isDelivering = false
            ended.signal()
        }
        defer { scrub() }
        guard let handler else { return try queue.settle() }
        try await deliverDue(to: handler)
    }

    /// Delivers what is due after what another call delivers now has been handled. One call at a
    /// time, and none by a handler.
    func deliverLast() async throws(ClientError) {
        while isDelivering, !Task.isCancelled { await ended.wait() }
        try await deliver()
    }

    /// Leaves no byte of what was delivered in any file. Another process that reads, or a full
    /// disk, may be in the way: then it is tried again with the next delivery, or in a minute.
    private func scrub() {
        if profile.mayHaveTraces { profile.wipeTraces() }
    }

    private func deliverDue(to handler: any MatchHandler) async throws(ClientError) {
        while !unsavedWarnings.isEmpty, !Task.isCancelled {
            await deliver(unsavedWarnings.removeFirst(), to: handler)
        }
        while let next = try profile.database.nextWarning() {
            await deliver(next.warning, to: handler)
            guard !Task.isCancelled else { return }
            try profile.database.dropWarning(next.id)
        }
        while let pending = try nextMatch() {
            let id = pending.match.id
            let start = environment.uptime()
            do {
                // Delivered before, and a full disk had no room to record it: once is enough.
                if !deliveredUnrecorded.contains(id) {
                    try await deliver(pending.match, to: handler)
                    deliveredUnrecorded.insert(id)
                }
            } catch {
                // A handler that was interrupted did not fail.
                guard !Task.isCancelled else { return }
                try profile.postpone(id, failures: pending.failures + 1, in: environment)
                continue
            }
            if unconfirmed == nil { try record(id) } else { unconfirmed?.append(id) }
            // Deliveries that take long do not keep the notes of those before.
            if environment.uptime() - start > .seconds(1) { scrub() }
        }
    }

    private func deliver(_ match: Match, to handler: any MatchHandler) async throws {
        try await app.call { try await handler.didFind(match) }.get()
    }

    private func deliver(_ warning: Warning, to handler: any MatchHandler) async {
        _ = await app.call { await handler.didWarn(warning) }
    }

    private func nextMatch() throws(ClientError) -> PendingMatch? {
        guard !Task.isCancelled else { return nil }
        // The unconfirmed ones are still there, and come first.
        let pending = try profile.database.nextMatch(
            now: environment.wallSeconds(), skipping: unconfirmed?.count ?? 0)
        guard let pending, hidesSequence else { return pending }
        return (pending.match.with(sequence: 0), pending.failures)
    }

    private func record(_ id: MatchID) throws(ClientError) {
        try profile.database.markDelivered(id, now: environment.wallSeconds())
        profile.noteTraces()
        deliveredUnrecorded.remove(id)
    }

    func deferConfirmation() { unconfirmed = unconfirmed ?? [] }

    func confirm() throws(ClientError) {
        while let id = unconfirmed?.first {
            try record(id)
            unconfirmed?.removeFirst()
        }
        scrub()
    }

    /// Records that the user was notified of a match by other means than the handler's return.
    /// - Returns: false when there is no such match.
    func acknowledge(_ id: MatchID) throws(ClientError) -> Bool {
        guard let progress = try profile.database.progress(of: id) else { return false }
        guard !progress.isDelivered else { return true }
        try record(id)
        scrub()
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
            scrub()
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
            // Another call delivers.
            await environment.sleep(.milliseconds(50))
        }
        throw .cancelled
    }

    /// Reports a full disk, once until a cycle succeeds.
    func reportFullDisk() {
        if profile.reportFullDisk() { deliverUnsaved(.diskFull) }
    }

    private func deliverUnsaved(_ warning: Warning) {
        unsavedWarnings.append(warning)
        event.signal()
    }

    func warnOfSilence() {
        var next = profile.record
        let warning = next.silence(now: environment.wallSeconds())
        // Also without a warning, or every start would begin to count again.
        guard next != profile.record else { return }
        do throws(ClientError) {
            try profile.save(next, warnings: warning.map { [$0] } ?? [])
        } catch {
            // The state cannot be written: warn all the same, and again after a restart.
            profile.keepUnsaved(next)
            if let warning { deliverUnsaved(warning) }
        }
    }

    /// Forgets what was delivered by this process, after the state was erased.
    func reset() {
        deliveredUnrecorded = []
        queue.reset()
    }

    // MARK: Events

    /// The next warning or match for a loop over events; nil when none waits.
    func nextEvent(for subscriber: EventSubscriber, of client: WakeClient) -> ClientEvent? {
        guard handler == nil else { return nil }
        try? queue.settle()
        if !unsavedWarnings.isEmpty { return .warning(unsavedWarnings.removeFirst()) }
        // A fault of the state is reported by `run`.
        if let next = try? queue.nextWarning() {
            subscriber.hand(warning: next.id)
            return .warning(next.warning)
        }
        guard let match = try? queue.nextMatch() else { return nil }
        let shown = hidesSequence ? match.with(sequence: 0) : match
        return .match(MatchDelivery(shown, DeliveryTicket(match.id, of: client)))
    }

    /// Ends a warning that a loop has handled, or takes it back.
    func end(warning id: Int64, isHandled: Bool) {
        guard isHandled else { return queue.giveBack(warning: id) }
        try? queue.confirm(warning: id)
    }

    func end(_ id: MatchID, _ end: DeliveryTicket.End) throws(ClientError) {
        defer { ended.signal() }
        switch end {
        case .acknowledged:
            defer { scrub() }
            try queue.acknowledge(id)
        case .postponed: try queue.postpone(id)
        }
    }

    /// The time after which a loop over events looks again.
    var nextWait: Duration? {
        guard handler == nil, let next = try? queue.nextDelivery() else { return nil }
        return environment.wait(until: next)
    }
}
