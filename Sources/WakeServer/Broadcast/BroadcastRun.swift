import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// One delivery pass of a broadcast, stage by stage: every registration is read once
/// (``RegistrationScan``), every distinct push token (``TokenDeduplicator``) leaves at the planned
/// pace (``RunPace``) through its gateway's session (``RunSessions``), and registrations whose push
/// tokens are gone pass the deletion breaker and are deleted (``GoneRegistrations``). The
/// ``CheckpointWriter`` notes what is complete. Used by one task.
final class BroadcastRun {
    private var scan: RegistrationScan
    private var deduplicator = TokenDeduplicator()
    private var pace: RunPace
    private var sessions: RunSessions
    private var goneRegistrations: GoneRegistrations
    private let topics: TopicRun?
    private let lifetime: Int

    private let checkpoint: CheckpointWriter
    private let inbox: RunInbox
    private let store: Store
    private let log: Log
    private let isNextDue: () -> Bool
    private let publish: (BroadcastReport) -> Void
    private var report: BroadcastReport
    private let start = ContinuousClock.now
    /// Set once told to stop: until then a bucket that has begun is sent to its end.
    private var stopDeadline: ContinuousClock.Instant?
    private var previousRows = 0

    /// For what is in flight, and for buckets that have begun, when the program stops.
    private static let stopTimeout = Duration.seconds(3)

    /// - Parameters:
    ///   - report: with the run's number and its counts before a restart.
    ///   - isNextDue: whether another broadcast waits for the end of this one.
    init(
        _ report: BroadcastReport, checkpoint: CheckpointWriter, inbox: RunInbox,
        planner: BroadcastPlanner, log: Log, isNextDue: @escaping () -> Bool,
        publish: @escaping (BroadcastReport) -> Void
    ) {
        self.report = report
        self.checkpoint = checkpoint
        self.inbox = inbox
        self.log = log
        self.isNextDue = isNextDue
        self.publish = publish
        store = planner.store
        scan = RegistrationScan(store, checkpoint)
        pace = planner.pace
        // A push service keeps a wake-up for a device that is off until about the next one.
        lifetime = planner.configuration.intervalSeconds
        sessions = RunSessions(planner.gateways, lifetime: lifetime, inbox: inbox)
        topics = TopicRun(planner.gateways, sent: report.counters.topics)
        goneRegistrations = GoneRegistrations(
            store, gateways: planner.gateways.count, perMille: planner.configuration.gonePerMille,
            tripped: checkpoint.counters.tripped)
    }

    /// Sends to everybody. Once the inbox is told to stop it only waits for what is in flight.
    /// - Returns: `isComplete` when nothing of the run is left to do.
    func run() async -> BroadcastReport {
        let interval = pace.interval
        await withTaskGroup(of: Void.self) { [inbox, topics, lifetime] group in
            group.addTask { await topics?.run(lifetime: lifetime) }
            group.addTask {
                while !Task.isCancelled {
                    try? await Task.sleep(for: interval)
                    inbox.wake()
                }
            }
            await sendAll()
            if !report.isComplete { await quiesce() }
            group.cancelAll()
        }
        sessions.cancel()
        // A report that comes too late is of references that mean nothing to the next attempt.
        _ = inbox.reports.take()
        goneRegistrations.finish()
        reportTripped()
        await deleteGone(isLast: true)
        publishProgress()
        checkpoint.close(savedCounters)
        return report
    }

    private func sendAll() async {
        while scan.isInRange || !inbox.isStopping {
            switch await scan.next() {
            case .rows(let rows, let generation):
                var isWhole = true
                for row in rows where isWhole { isWhole = await send(row, generation) }
                sessions.flush()
                await handleReports()
                guard isWhole else { return scan.abandon() }
                scan.finishPage()
            case .wait: await completeDeliveries()
            case .failed:
                report.isCutShort = true
                return
            case .end:
                while topics?.isOver == false, !inbox.isStopping { await waitForReports() }
                report.isComplete = topics?.isOver ?? true
                if report.startCounters.rows == 0 { report.previousRows = UInt64(previousRows) }
                return
            }
        }
    }

    private func send(_ row: StoreRow, _ generation: Generation) async -> Bool {
        let isBegun = checkpoint.isInBegunBucket(row.id)
        let segment = checkpoint.didRead(row.id)
        guard maySend(isBegun: isBegun) else { return false }
        report.counters.rows += 1
        if generation == .previous { previousRows += 1 }
        guard let gateway = sessions.index(of: row.token.service) else {
            return skip(segment, \.unserved)
        }
        if report.isHeartbeat, !sessions.takesHeartbeats(row.token, gateway) {
            report.hosts.skip(row.token)
            return skip(segment, \.unserved)
        }
        guard deduplicator.insert(row.token) else { return skip(segment, \.duplicates) }
        // What cannot leave need not wait.
        if sessions.isOpen(gateway), await !waitForRoom(isBegun: isBegun) {
            report.counters.rows -= 1
            return false
        }
        // After the wait: the gateway may have failed meanwhile.
        guard sessions.isOpen(gateway) else { return skip(segment, \.unsent) }
        pace.spend()
        let entry = InFlightTable.Entry(
            row: row, generation: generation, gateway: gateway, segment: segment)
        if sessions.send(entry) { await handleReports() }
        return true
    }

    private func skip(_ segment: Int, _ counter: WritableKeyPath<RunCounters, UInt64>) -> Bool {
        report.counters[keyPath: counter] += 1
        checkpoint.complete(segment)
        return true
    }

    /// Whether rows may be sent: during a stop only those of a begun bucket.
    private func maySend(isBegun: Bool) -> Bool {
        guard inbox.isStopping else { return true }
        let now = ContinuousClock.now
        let deadline = stopDeadline ?? now + Self.stopTimeout
        stopDeadline = deadline
        return isBegun && now < deadline
    }

    /// Waits until another wake-up may leave; false when none may any more.
    private func waitForRoom(isBegun: Bool) async -> Bool {
        while maySend(isBegun: isBegun) {
            if inbox.isStopping { pace.allowOne() }
            if pace.allows(now: elapsedNanoseconds), !sessions.isFull { return true }
            sessions.flush()
            await waitForReports()
        }
        return false
    }

    /// Waits for the last outcomes; not for what is tried again once another broadcast is due.
    private func completeDeliveries() async {
        sessions.finish()
        while sessions.inFlightCount > 0, !inbox.isStopping {
            if sessions.areWaiting, isNextDue() {
                sessions.cancel()
                await handleReports()
                for entry in sessions.abandon() { complete(entry, .retry(.superseded)) }
            } else {
                await waitForReports()
            }
        }
        checkpoint.save(savedCounters)
    }

    /// Waits for what has left, so that nothing of it is repeated, but not for long.
    private func quiesce() async {
        let deadline = ContinuousClock.now + Self.stopTimeout
        while sessions.quiesce(), ContinuousClock.now < deadline { await waitForReports() }
        await handleReports()
    }

    private func waitForReports() async {
        await inbox.wait()
        await handleReports()
    }

    private func handleReports() async {
        sessions.tick()
        for (gateway, report) in inbox.reports.take() { handle(report, of: gateway) }
        reportTripped()
        await deleteGone(isLast: false)
        checkpoint.save(savedCounters)
        publishProgress()
    }

    private func handle(_ gatewayReport: GatewayReport, of gateway: Int) {
        switch gatewayReport {
        case .completed(let results):
            for result in results { complete(sessions.complete(result.reference), result.delivery) }
        case .retried(let count): report.counters.retried += UInt64(count)
        case .failed(let failure):
            for entry in sessions.close(gateway) { _ = skip(entry.segment, \.unsent) }
            let service = sessions.service(gateway)
            log(.gatewayStopped(service, failure))
            report.stopped[service] = failure.message
        }
    }

    private func complete(_ entry: InFlightTable.Entry, _ delivery: Delivery) {
        checkpoint.complete(entry.segment)
        report.hosts.add(delivery, entry.row.token)
        switch delivery {
        case .accepted:
            report.counters.accepted += 1
            goneRegistrations.accepted(gateway: entry.gateway)
        case .retry(let cause):
            report.counters.abandoned += 1
            report.causes[cause, default: 0] += 1
        case .gone:
            report.counters.gone += 1
            goneRegistrations.gone(entry)
        case .invalid:
            report.counters.gone += 1
            goneRegistrations.invalid(entry)
        }
    }

    private func reportTripped() {
        for gateway in goneRegistrations.tripped {
            let service = sessions.service(gateway)
            guard report.tripped.insert(service).inserted else { continue }
            report.counters.tripped |= 1 << UInt64(gateway)
            log(.deletionBreakerTripped(service))
        }
    }

    private func deleteGone(isLast: Bool) async {
        report.counters.deleted += UInt64(await goneRegistrations.delete(isLast: isLast))
    }

    /// As saved: what a stop leaves in flight is read, and counted, again.
    private var savedCounters: RunCounters {
        var counters = report.counters
        counters.rows -= min(counters.rows, UInt64(sessions.inFlightCount))
        return counters
    }

    private var elapsedNanoseconds: UInt64 {
        UInt64((ContinuousClock.now - start) / .nanoseconds(1))
    }

    private func publishTopics() {
        guard let topics else { return }
        report.counters.topics = topics.sent
        guard let failure = topics.failure, report.stopped[.fcm] == nil else { return }
        log(.gatewayStopped(.fcm, failure))
        report.stopped[.fcm] = failure.message
    }

    private func publishProgress() {
        publishTopics()
        report.counters.milliseconds =
            report.startCounters.milliseconds + elapsedNanoseconds / 1_000_000
        let rest = max(1, store.estimatedRows - previousRows)
        report.permille = Int(
            checkpoint.progress(previousRows: previousRows, currentRows: rest) * 1000)
        publish(report)
    }
}
