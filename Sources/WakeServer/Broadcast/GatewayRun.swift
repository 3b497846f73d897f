import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// One gateway in a broadcast, with its own place in the scan, pace, window and position on disk:
/// one that is slow, refused or away delays no other and is simply where it is. Used by one task.
///
/// Everything that keeps it from going on is one loop: while the gateway is away it waits and tries
/// again, and when another broadcast is due it ends. A host of Web Push without room is passed
/// over, and gets another lap once all rows were read.
final class GatewayRun {
    private let gateway: (any Gateway)?
    private let service: PushService
    /// Written down with this gateway's position.
    private let topics: TopicRun?
    private let all: Surroundings
    private let inbox: RunInbox
    private let publish: (BroadcastReport) -> Void
    private var lane: RowLane
    private var writer: PositionWriter
    private var gone: GoneRegistrations
    private var session: (any GatewaySession)?
    /// The page in hand.
    private var page: RowLane.Page?
    /// When the last page of the previous generation was read.
    private var readUntil: UInt64 = 0
    /// Why the gateway is not used now, and when it is tried again; nil: not in this run.
    private var absence: (failure: GatewayFailure, until: UptimeInstant?)?
    private var isWaiting = false
    /// Rows that were left when so many pushes had an outcome, see ``countLeft()``.
    private var left: (rows: (own: UInt64, unserved: UInt64), sent: UInt64)?
    /// Attempts since something was accepted.
    private var attempts = 0
    private var message: String?
    /// Why the session holds back what it has; nil while it sends.
    private var delay: GatewayFailure?
    private var isTripped = false
    private var isOver = false
    private var meter = RateMeter()
    private var nextTick = UptimeInstant.now
    private let start = UptimeInstant.now
    private let millisecondsBefore: UInt64
    /// Since all rows were read, and the pushes completed before.
    private var tail: (start: UptimeInstant, sent: UInt64)?

    private static let tickInterval = Duration.milliseconds(100)
    private static let firstReopening = Duration.seconds(5)
    private static let storeInterval = Duration.seconds(5)
    /// For what is in flight when the program stops.
    private static let stopTimeout = Duration.seconds(3)
    /// Pushes a second for which another broadcast does not wait.
    private static let fewPerSecond = 100.0

    /// - Parameters:
    ///   - gateway: nil for a run that only counts.
    ///   - unserved: push services without a gateway, counted here.
    init(
        _ gateway: (any Gateway)?, unserved: ServiceSet, topics: TopicRun?,
        in all: Surroundings, _ inbox: RunInbox, publish: @escaping (BroadcastReport) -> Void
    ) {
        self.gateway = gateway
        self.topics = topics
        self.all = all
        self.inbox = inbox
        self.publish = publish
        service = gateway?.service ?? .apns
        let position = all.checkpoint.positions[service] ?? RunPosition()
        let isHeartbeat = all.checkpoint.header.reasons == .heartbeat
        // Enough that a gateway does not wait for rows while it holds refusals.
        let held = ProvisionalAnswers<Int>.limit
        lane = RowLane(
            gateway, unserved: unserved, order: all.scan.order, position: position,
            isHeartbeat: isHeartbeat, recent: all.recent,
            capacity: all.inFlight + (gateway?.window ?? 0) + held, pace: all.pace)
        writer = PositionWriter(all.checkpoint, service, log: all.log)
        gone = GoneRegistrations(
            all.store, perMille: all.gonePerMille, isTripped: position.counters.tripped != 0,
            isBelieved: all.believed.contains(service))
        millisecondsBefore = position.counters.milliseconds
    }

    /// Sends to all of the gateway's push tokens. Once told to stop it only waits for what is in
    /// flight.
    /// - Returns: push tokens that may have had two pushes.
    func run() async -> TokenDeduplicator {
        openSession()
        await work()
        if isOver { await waitForTopics() }
        if !isOver { await quiesce() }
        if all.control.isEnding, !isOver {
            lane.position.counters.uncertain += UInt64(session?.inFlight ?? 0)
            lane.position.counters.unsent += UInt64(lane.inFlight) + lane.position.counters.deferred
            lane.position.counters.rows += UInt64(lane.inFlight) + lane.position.counters.deferred
            lane.position.counters.deferred = 0
        }
        session?.cancel()
        gone.finish()
        await deleteGone(isLast: true)
        save()
        all.control.setActivity(.over, of: inbox)
        publishProgress()
        return lane.repeated
    }

    private func openSession() {
        guard let gateway, gateway.wakesTokens else { return }
        session = gateway.open(lifetime: all.lifetime) { [reports = inbox.reports] in
            reports.post($0)
        }
    }

    private func work() async {
        while !all.control.isStopping, !isOver {
            if absence != nil {
                await waitForGateway()
            } else if page != nil {
                await sendPage()
            } else if !(await nextPage()) {
                await finishLap()
            }
        }
    }

    /// - Returns: false when everything was read.
    private func nextPage() async -> Bool {
        let isAgain = !lane.position.again.isEmpty
        guard isAgain || lane.position.next < ScanOrder.end else { return false }
        let next =
            isAgain
            ? await all.scan.page(at: lane.position.firstAgain)
            : await all.scan.page(at: lane.position.next, after: readUntil, for: service)
        guard let next else {
            // A store that cannot be read now may be read again.
            let due = UptimeInstant.now + Self.storeInterval
            while UptimeInstant.now < due, !all.control.isStopping { await waitForReports() }
            return true
        }
        if next.generation == .previous { readUntil = next.ended }
        if !isAgain { meter.add(rows: next.rows.count) }
        page = lane.page(next, isAgain: isAgain, of: all.store.estimatedRows)
        return true
    }

    private func sendPage() async {
        var begin = UptimeInstant.now
        defer { meter.add(time: .now - begin) }
        while var page, !all.control.isStopping {
            let step = lane.advance(&page)
            self.page = page
            switch step {
            case .end:
                finishPage(page)
                sendBatch()
                await handleReports()
                return
            case .batch:
                sendBatch()
                await handleReports()
            case .room:
                sendBatch()
                await waitForOutcomes()
            case .pace:
                sendBatch()
                meter.add(time: .now - begin)
                await waitForReports()
                begin = .now
            }
        }
    }

    private func finishPage(_ page: RowLane.Page) {
        if page.isAgain {
            lane.position.finishAgain(lane.position.firstAgain.count)
        } else {
            lane.position.next = page.end
        }
        self.page = nil
    }

    private func sendBatch() {
        guard !lane.batch.isEmpty else { return }
        session?.send(lane.takeBatch())
    }

    /// Waits for the last outcomes of a lap, and begins another one if hosts had no room.
    private func finishLap() async {
        session?.flush(isFinal: true)
        tail = tail ?? (.now, lane.position.counters.sent)
        save()
        while lane.inFlight > 0, absence == nil, !all.control.isStopping, !isOver {
            await waitForOutcomes()
        }
        all.control.setActivity(.sending, of: inbox)
        guard lane.inFlight == 0, absence == nil, !isOver, lane.position.again.isEmpty else {
            return
        }
        if lane.position.noted.isEmpty { isOver = true } else { lane.position.beginLap() }
    }

    /// Waits until the session says something. One that holds back what it has, and a few slow
    /// hosts, are not waited for when another broadcast is due.
    private func waitForOutcomes() async {
        let isAllHeld = session?.inFlight == 0
        let isSlow = tail != nil && (isAllHeld || isSlowTail)
        let isHeld = isHeld
        all.control.setActivity(isHeld ? .away : isSlow ? .slow : .sending, of: inbox)
        guard isHeld || isSlow, all.control.isSuperseded else { return await waitForReports() }
        guard let delay, isHeld else { return giveUp() }
        session?.cancel()
        session = nil
        lane.goBack(from: page)
        (page, absence) = (nil, (delay, .now))
    }

    /// Whether the session holds back all that it has.
    private var isHeld: Bool { delay != nil && session?.inFlight == 0 }

    /// The run is not over before its topics are, unless another broadcast is due.
    private func waitForTopics() async {
        while let topics, !topics.isOver, !all.control.isSuperseded, isOver {
            all.control.setActivity(topics.isSending ? .sending : .away, of: inbox)
            await waitForReports()
            isOver = !all.control.isStopping
        }
    }

    /// Whether a few slow hosts have kept the run for minutes: another broadcast need not wait.
    private var isSlowTail: Bool {
        guard let tail else { return false }
        let time = UptimeInstant.now - tail.start
        // A pace may be slower still.
        let few = min(Self.fewPerSecond, all.pace.perSecond / 2) * (time / .seconds(1))
        return time > all.tailPatience && Double(lane.position.counters.sent - tail.sent) < few
    }

    /// Waits until the gateway may be used again; ends the run when that is not in this broadcast.
    private func waitForGateway() async {
        let deferred = lane.position.counters.deferred
        // To read the rest of a large store takes seconds: not again while nothing was sent.
        let sent = lane.position.counters.sent
        if left?.sent != sent { left = await countLeft().map { ($0, sent) } }
        guard let left = left?.rows else { return }
        lane.position.counters.deferred = left.own
        guard let until = absence?.until else { return giveUp(unserved: left.unserved) }
        all.control.setActivity(.away, of: inbox)
        isWaiting = true
        defer { isWaiting = false }
        save()
        publishProgress()
        while UptimeInstant.now < until, !all.control.isStopping, !all.control.isSuperseded {
            await inbox.wait()
        }
        if all.control.isStopping { return }
        if all.control.isSuperseded { return giveUp(unserved: left.unserved) }
        lane.position.counters.deferred = deferred
        all.control.setActivity(.sending, of: inbox)
        absence = nil
        openSession()
    }

    /// Rows of the gateway that have had no wake-up, and rows without a gateway that were not
    /// counted; nil when the program stops.
    private func countLeft() async -> (own: UInt64, unserved: UInt64)? {
        var rest = lane.position
        var rows = (own: UInt64(rest.noted.count), unserved: UInt64(0))
        while !all.control.isStopping {
            let isAgain = !rest.again.isEmpty
            guard isAgain || rest.next < ScanOrder.end else { return rows }
            let page =
                isAgain
                ? await all.scan.page(at: rest.firstAgain)
                : await all.scan.page(at: rest.next, after: readUntil, for: service)
            guard let page else { return rows }
            let left = lane.countLeft(
                lane.page(page, isAgain: isAgain, of: all.store.estimatedRows))
            rows = (rows.own + UInt64(left.own), rows.unserved + UInt64(left.unserved))
            if isAgain {
                rest.finishAgain(rest.firstAgain.count)
            } else {
                rest.next = page.places.upperBound
            }
        }
        return nil
    }

    /// Ends the run in favour of the next: what has no outcome is left to that.
    /// - Parameter unserved: rows without a gateway that were not counted.
    private func giveUp(unserved: UInt64 = 0) {
        lane.position.counters.unserved += unserved
        lane.position.counters.rows += unserved
        // What a push service has may arrive.
        lane.position.counters.uncertain += UInt64(session?.inFlight ?? 0)
        session?.cancel()
        for report in inbox.reports.take() {
            if case .failed = report { continue }
            handle(report)
        }
        lane.abandon(.superseded)
        lane.position.counters.unsent += lane.position.counters.deferred
        lane.position.counters.rows += lane.position.counters.deferred
        lane.position.counters.deferred = 0
        isOver = true
    }

    /// Waits for what has left, so that nothing of it is repeated, but not for long.
    private func quiesce() async {
        let deadline = UptimeInstant.now + Self.stopTimeout
        while let session, session.quiesce() > 0, UptimeInstant.now < deadline {
            await waitForReports()
        }
        await handleReports()
    }

    private func waitForReports() async {
        await inbox.wait()
        await handleReports()
    }

    private func handleReports() async {
        tick()
        for report in inbox.reports.take() { handle(report) }
        if !isTripped, gone.isTripped {
            isTripped = true
            lane.position.counters.tripped = 1
            all.log(.deletionBreakerTripped(service))
        }
        await deleteGone(isLast: false)
        writer.saveIfDue { lane.savedPosition(page) }
        publishProgress()
    }

    private func tick() {
        let now = UptimeInstant.now
        guard now >= nextTick else { return }
        nextTick = now + Self.tickInterval
        session?.tick()
    }

    private func handle(_ report: GatewayReport) {
        switch report {
        case .completed(let results):
            let accepted = lane.position.counters.accepted
            lane.complete(results) { gone.add($0, of: $1) }
            if lane.position.counters.accepted > accepted {
                (attempts, message) = (0, delay?.message)
            }
        case .retried(let count): lane.position.counters.retried += UInt64(count)
        case .uncertain(let count): lane.position.counters.uncertain += UInt64(count)
        case .deferred(let references): lane.giveBack(references)
        case .delayed(let failure):
            (delay, message) = (failure, failure?.message)
            if let failure { all.log(.gatewayStopped(service, failure)) }
        case .failed(let failure):
            (session, delay) = (nil, nil)
            lane.goBack(from: page)
            page = nil
            // One that has accepted others works again once that passes, whatever it blames.
            let mayPass = failure.mayPass || lane.position.counters.accepted > 0
            let wait = min(all.reopenInterval, Self.firstReopening * (1 << min(attempts, 6)))
            attempts += 1
            absence = (failure, mayPass ? .now + wait : nil)
            message = failure.message
            all.log(.gatewayStopped(service, failure))
        }
    }

    private func deleteGone(isLast: Bool) async {
        lane.position.counters.deleted += UInt64(await gone.delete(isLast: isLast))
    }

    private func save() { writer.save(lane.savedPosition(page)) }

    private func publishProgress() {
        lane.position.counters.milliseconds =
            millisecondsBefore + UInt64((UptimeInstant.now - start) / .milliseconds(1))
        if let failure = topics?.update(&lane.position.counters) {
            all.log(.gatewayStopped(.fcm, failure))
        }
        let isOver = isOver && (topics?.isOver != false || all.control.isSuperseded)
        var report = lane.report
        report.counters = lane.position.counters
        // Written down are rows with an outcome; shown are those that were read, or are waited for.
        if !all.control.isEnding {
            report.counters.rows += UInt64(lane.inFlight) + report.counters.deferred
            if isHeld { report.counters.deferred += UInt64(lane.inFlight) }
        }
        report.isComplete = isOver
        report.isWaiting =
            (isWaiting || isHeld || self.isOver && topics?.isSending != true) && !isOver
        report.permille = isOver ? 1000 : all.permille(lane.position, pending: lane.inFlight)
        report.stopped[service] = message
        if let message = topics?.message { report.stopped[.fcm] = message }
        if isTripped { report.tripped = [service] }
        if report.counters.accepted > 0 { report.accepting = ServiceSet(service) }
        if gateway?.wakesTokens == true { report.rates[service] = meter.rate }
        publish(report)
    }
}
