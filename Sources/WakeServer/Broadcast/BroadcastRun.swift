import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// One delivery of a broadcast, stage by stage: ``RegistrationScan``, ``RowStage``,
/// ``RunSessions``, ``GoneRegistrations``. Used by one task.
final class BroadcastRun {
    private var scan: RegistrationScan
    private var rows: RowStage
    private let sessions: RunSessions
    private var goneRegistrations: GoneRegistrations
    private let topics: TopicRun?
    private let lifetime: Int
    private let reopenInterval: Duration
    private let tailPatience: Duration
    private let checkpoint: CheckpointWriter
    private let inbox: RunInbox
    private let store: Store
    private let log: Log
    /// Push tokens that may have had two pushes in this run.
    private(set) var repeated: TokenDeduplicator
    private let mustGiveWay: (RunCounters, _ isIdle: Bool) async -> Bool
    private let publish: (BroadcastReport) -> Void
    private var report: BroadcastReport
    private var nextWayCheck = UptimeInstant.now
    /// Once all rows have been read: since when, and the pushes completed before.
    private var tail: (start: UptimeInstant, sent: UInt64)?
    private var isSuperseded = false

    private static let idleInterval = Duration.seconds(1)
    /// Pushes a second for which another broadcast does not wait.
    private static let fewPerSecond = 100.0

    /// - Parameters:
    ///   - report: with the run's number and its counts before a restart.
    ///   - believed: push services whose deletion breaker has let go.
    ///   - recent: pushes of earlier runs.
    ///   - mustGiveWay: whether something else waits for the end of a run that only waits; idle:
    ///     for minutes.
    init(
        _ report: BroadcastReport, checkpoint: CheckpointWriter, inbox: RunInbox,
        planner: BroadcastPlanner, believed: Set<PushService>, recent: RecentPushes, log: Log,
        mustGiveWay: @escaping (RunCounters, _ isIdle: Bool) async -> Bool,
        publish: @escaping (BroadcastReport) -> Void
    ) {
        self.report = report
        self.checkpoint = checkpoint
        self.inbox = inbox
        self.log = log
        self.mustGiveWay = mustGiveWay
        self.publish = publish
        store = planner.store
        (reopenInterval, tailPatience) = (planner.reopenInterval, planner.tailPatience)
        let pace = planner.pace
        scan = RegistrationScan(store, checkpoint, size: .init(pace))
        // A push service keeps a wake-up for a device that is off until about the next one.
        lifetime = planner.configuration.intervalSeconds
        sessions = RunSessions(planner.gateways, lifetime: lifetime, inbox: inbox)
        rows = RowStage(
            expecting: store.estimatedRows, sessions: sessions, checkpoint: checkpoint,
            inbox: inbox, recent: recent, pace: pace)
        repeated = rows.noTokens
        topics = TopicRun(
            planner.gateways, sent: report.counters.topics, retryInterval: reopenInterval)
        goneRegistrations = GoneRegistrations(
            store, services: planner.gateways.map(\.service),
            perMille: planner.configuration.gonePerMille, tripped: checkpoint.counters.tripped,
            believed: believed)
    }

    /// Sends to everybody. Once the inbox is told to stop it only waits for what is in flight.
    /// - Returns: `isComplete` when nothing of the run is left to do.
    func run() async -> BroadcastReport {
        let interval = rows.checkInterval
        await withTaskGroup(of: Void.self) { [inbox, topics, lifetime] group in
            group.addTask { await topics?.run(lifetime: lifetime) }
            group.addTask {
                while !Task.isCancelled {
                    try? await Task.sleep(for: inbox.isIdle ? Self.idleInterval : interval)
                    inbox.wake()
                }
            }
            await sendAll()
            if !report.isComplete { await quiesce() }
            group.cancelAll()
        }
        if inbox.isEnding, !report.isComplete { countUncertain() }
        sessions.cancel()
        report.rates = sessions.rates
        // A report that comes too late is of references that mean nothing to the next attempt.
        _ = inbox.reports.take()
        if inbox.isEnding, !report.isComplete { end(wasEnded: true) }
        goneRegistrations.finish()
        reportTripped()
        await deleteGone(isLast: true)
        publishProgress()
        // What is not complete is read, and counted, again.
        if !report.isComplete { report.counters = savedCounters }
        checkpoint.close(report.counters)
        return report
    }

    private func sendAll() async {
        while scan.isInRange || !inbox.isStopping {
            switch await scan.next() {
            case .rows(let page, let generation):
                let isWhole = await send(RowStage.Page(page, generation))
                sessions.flush()
                await handleReports()
                guard isWhole else {
                    scan.abandon()
                    if isSuperseded { await supersede() }
                    return
                }
                scan.finishPage()
                guard rows.pass.isFirst || sessions.canSend(to: rows.pass.services) else {
                    scan.abandon()
                    if await completePass() { return }
                    continue
                }
            case .wait: if await completePass() { return }
            case .failed:
                report.isCutShort = true
                return
            case .end:
                while topics?.isOver == false, !inbox.isStopping {
                    if topics?.isSending != true, await givesWay(isIdle: true) { return end() }
                    await waitIdly()
                }
                if topics?.isOver != false { end() }
                return
            }
        }
    }

    /// - Returns: false when the run stops: the rest was not sent.
    private func send(_ page: RowStage.Page) async -> Bool {
        var page = page
        while true {
            var step: RowStage.Step? = rows.advance(&page, &report)
            if case .full(let candidate, let isBegun) = step {
                switch await room(candidate.entry.gateway, isBegun: isBegun) {
                case .free: step = rows.send(candidate, &report)
                case .later: step = rows.postpone(candidate, &report)
                case .none: step = .stop
                }
            }
            switch step {
            case .end: return true
            case .stop: return false
            case .batch: await handleReports()
            case .full, nil: break
            }
        }
    }

    private enum Room {
        case free
        /// In another pass.
        case later
        /// Never: the run stops.
        case none
    }

    /// Waits until another wake-up may leave.
    private func room(_ gateway: Int, isBegun: Bool) async -> Room {
        let service = ServiceSet(sessions.service(gateway))
        while rows.maySend(isBegun: isBegun) {
            let isDue = rows.isDue
            if isDue, sessions.readiness(gateway) != .full { return .free }
            if isDue, rows.pass.lagging.contains(service) { return .later }
            let isHeldUp =
                isDue && sessions.isAnotherIdle(than: gateway, of: rows.pass.servicesInTime)
            if isSlowTail, await givesWay(isIdle: false) {
                isSuperseded = true
                return .none
            }
            sessions.flush()
            let before = rows.elapsed
            await waitForReports()
            if isHeldUp { rows.holdUp(service, for: rows.elapsed - before) }
        }
        return .none
    }

    /// Waits for the last outcomes of a pass and begins another one, if rows are left.
    /// - Returns: whether the run has ended here, in favour of what must not wait any more.
    private func completePass() async -> Bool {
        sessions.finish(but: rows.pass.lagging)
        tail = tail ?? (.now, report.counters.sent)
        guard rows.pass.lagging.isEmpty else {
            begin(RunPass(rows.pass.lagging))
            return false
        }
        checkpoint.save(savedCounters)
        while sessions.inFlightCount > 0 || !checkpoint.isComplete, !inbox.isStopping {
            if sessions.inFlightCount == 0 {
                // Rows that were in flight when a pass began were left out of it.
                let left = checkpoint.incompleteServices.subtracting(sessions.unavailableServices)
                guard left.isEmpty else {
                    begin(RunPass(left))
                    return false
                }
            }
            let services = sessions.reopen(now: .now)
            guard services.isEmpty else {
                // Said again if it fails again.
                for service in PushService.allCases where services.contains(.init(service)) {
                    report.stopped[service] = nil
                }
                begin(RunPass(services))
                return false
            }
            let isIdle = sessions.inFlightCount == 0 || sessions.areDelayed
            if sessions.areWaiting || isSlowTail, await givesWay(isIdle: isIdle) {
                await supersede()
                return true
            }
            await waitIdly()
        }
        checkpoint.save(savedCounters)
        return false
    }

    private func begin(_ next: RunPass) {
        (inbox.isIdle, report.isWaiting) = (false, false)
        rows.begin(next)
        checkpoint.beginPass(for: next.services)
    }

    /// Waits for a report; when only time can help, for up to a second.
    private func waitIdly() async {
        let isEmpty = sessions.inFlightCount == 0
        let isIdle = (isEmpty || sessions.areDelayed) && topics?.isSending != true
        // A kill while it waits for minutes must find the counters of now.
        if isIdle, !inbox.isIdle { checkpoint.close(savedCounters) }
        (inbox.isIdle, report.isWaiting) = (isIdle, isIdle)
        if isIdle { publishProgress() }
        await inbox.wait()
        if isIdle, isEmpty { return }
        await handleReports()
        checkpoint.save(savedCounters)
    }

    private func givesWay(isIdle: Bool) async -> Bool {
        let now = UptimeInstant.now
        guard now >= nextWayCheck else { return false }
        nextWayCheck = now + Self.idleInterval
        return await mustGiveWay(report.counters, isIdle)
    }

    /// Whether a few slow hosts have kept the run for minutes: another broadcast need not wait.
    private var isSlowTail: Bool {
        guard let tail else { return false }
        let time = UptimeInstant.now - tail.start
        // A pace may be slower still.
        let few = min(Self.fewPerSecond, rows.perSecond / 2) * (time / .seconds(1))
        return time > tailPatience && Double(report.counters.sent - tail.sent) < few
    }

    /// Ends the run in favour of the next: what has no outcome is left to that.
    private func supersede() async {
        countUncertain()
        sessions.cancel()
        await handleReports()
        let abandoned = sessions.abandon()
        checkpoint.withProgress { progress in
            for entry in abandoned {
                Self.complete(entry, .retry(.superseded), &progress, &report, &goneRegistrations)
            }
        }
        end()
    }

    /// What a push service has at the end may arrive.
    private func countUncertain() { report.counters.uncertain += UInt64(sessions.sentCount) }

    /// - Parameter wasEnded: by the operator.
    private func end(wasEnded: Bool = false) {
        report.isComplete = true
        report.wasEnded = wasEnded
        report.isWaiting = false
        checkpoint.save(report.counters)
        report.counters.end(isWhole: checkpoint.isComplete, inFlight: sessions.inFlightCount)
        if report.startCounters.rows == 0, !wasEnded {
            report.previousRows = UInt64(rows.previousRows)
        }
    }

    /// Waits for what has left, so that nothing of it is repeated, but not for long.
    private func quiesce() async {
        let deadline = UptimeInstant.now + RowStage.stopTimeout
        while sessions.quiesce(), UptimeInstant.now < deadline { await waitForReports() }
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
        checkpoint.saveIfDue(savedCounters)
        publishProgress()
    }

    private func handle(_ gatewayReport: GatewayReport, of gateway: Int) {
        switch gatewayReport {
        case .completed(let results):
            Self.complete(
                results, of: sessions, checkpoint, &report, &goneRegistrations, &repeated)
        case .retried(let count): report.counters.retried += UInt64(count)
        case .uncertain(let count): report.counters.uncertain += UInt64(count)
        case .deferred(let references): references.forEach { putOff(sessions.complete($0)) }
        case .delayed(let failure):
            let service = sessions.delay(gateway, failure != nil)
            if let failure { log(.gatewayStopped(service, failure)) }
            report.stopped[service] = failure?.message
        case .failed(let failure):
            let service = sessions.service(gateway)
            let reopening = failure.mayPass ? UptimeInstant.now + reopenInterval : nil
            for entry in sessions.close(gateway, reopening: reopening) {
                if reopening != nil {
                    putOff(entry)
                } else {
                    report.counters.unsent += 1
                    checkpoint.complete(entry.segment)
                }
            }
            log(.gatewayStopped(service, failure))
            report.stopped[service] = failure.message
        }
    }

    /// Leaves to another pass what did not leave.
    private func putOff(_ entry: InFlightTable.Entry) {
        rows.forget(entry)
        report.counters.deferred += 1
        checkpoint.complete(entry.segment, deferring: ServiceSet(entry.service))
    }

    /// Counts results. All with one look at each property, not one for every row.
    private static func complete(
        _ results: [WakeUpResult], of sessions: RunSessions, _ checkpoint: CheckpointWriter,
        _ report: inout BroadcastReport, _ gone: inout GoneRegistrations,
        _ repeated: inout TokenDeduplicator
    ) {
        sessions.withTable { table in
            checkpoint.withProgress { progress in
                for result in results {
                    let entry = table.complete(result.reference)
                    if result.isRepeated { _ = repeated.insert(hash: entry.hash) }
                    complete(entry, result.delivery, &progress, &report, &gone)
                }
            }
        }
    }

    private static func complete(
        _ entry: InFlightTable.Entry, _ delivery: Delivery,
        _ progress: inout CheckpointWriter.Progress, _ report: inout BroadcastReport,
        _ gone: inout GoneRegistrations
    ) {
        progress.complete(entry.segment)
        report.add(delivery, to: entry.service, at: entry.host)
        gone.add(delivery, of: entry)
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

    private var savedCounters: RunCounters {
        report.counters.saved(inFlight: sessions.inFlightCount)
    }

    private func publishProgress() {
        if let failure = topics?.update(&report) { log(.gatewayStopped(.fcm, failure)) }
        report.counters.milliseconds =
            report.startCounters.milliseconds + UInt64(rows.elapsed / .milliseconds(1))
        let rest = max(1, store.estimatedRows - rows.previousRows)
        report.permille = Int(
            checkpoint.progress(previousRows: rows.previousRows, currentRows: rest) * 1000)
        publish(report.holding(sessions.inFlightCount))
    }
}
