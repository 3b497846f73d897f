import Synchronization
import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// One delivery of a broadcast: a ``GatewayRun`` for each gateway over one ``SharedScan``, and the
/// topics beside them. Each gateway reads every registration once, sends every distinct push token
/// at the planned pace (``RowLane``), and deletes those that are gone (``GoneRegistrations``).
final class BroadcastRun: Sendable {
    private let all: GatewayRun.Surroundings
    private let gateways: [any Gateway]
    private let topics: TopicRun?
    /// The report before anything was sent.
    let start: BroadcastReport
    private let mustGiveWay: @Sendable (_ hasArrived: Bool, _ isIdle: Bool) async -> Bool
    private let publish: @Sendable (BroadcastReport) -> Void
    /// The newest report of each gateway; that of the first includes the topics.
    private let reports: Mutex<[BroadcastReport]>

    private static let idleInterval = Duration.seconds(1)

    /// - Parameters:
    ///   - believed: push services whose deletion breaker has let go.
    ///   - recent: pushes of earlier runs.
    ///   - mustGiveWay: whether something else waits for the end of a run that only waits; idle:
    ///     for minutes.
    init(
        _ checkpoint: Checkpoint, control: RunControl, planner: BroadcastPlanner,
        believed: Set<PushService>, recent: RecentPushes, log: Log,
        mustGiveWay: @escaping @Sendable (_ hasArrived: Bool, _ isIdle: Bool) async -> Bool,
        publish: @escaping @Sendable (BroadcastReport) -> Void
    ) {
        self.mustGiveWay = mustGiveWay
        self.publish = publish
        let pace = planner.pace
        let gateways = planner.gateways.filter(\.wakesTokens)
        let all = GatewayRun.Surroundings(
            store: planner.store,
            scan: SharedScan(planner.store, checkpoint.header.order, size: .init(pace)),
            checkpoint: checkpoint, control: control, recent: recent, believed: believed,
            gonePerMille: planner.configuration.gonePerMille,
            lifetime: planner.configuration.intervalSeconds, pace: pace,
            inFlight: Limits.wakeUpsInFlight / max(1, gateways.count),
            reopenInterval: planner.reopenInterval, tailPatience: planner.tailPatience, log: log)
        let sent = checkpoint.positions.values.map(\.counters.topics).max() ?? 0
        topics = TopicRun(
            planner.gateways, sent: sent, retryInterval: planner.reopenInterval)
        let services = gateways.isEmpty ? [.apns] : gateways.map(\.service)
        let reports = services.map { service in
            let position = checkpoint.positions[service] ?? RunPosition()
            var report = BroadcastReport()
            report.counters = position.counters
            report.permille = all.permille(position, pending: position.again.count)
            return report
        }
        var start = BroadcastReport(checkpoint.header).with(reports)
        (start.startCounters, start.startPermille) = (start.counters, start.permille)
        start.plannedSeconds = planner.plannedSeconds
        self.reports = Mutex(reports)
        (self.start, self.all, self.gateways) = (start, all, gateways)
    }

    /// Sends to everybody. Once the control is told to stop it only waits for what is in flight.
    /// - Returns: `isComplete` when nothing of the run is left to do; and push tokens that may have
    ///   had two pushes.
    func run() async -> (BroadcastReport, repeated: [TokenDeduplicator]) {
        let inboxes = reports.withLock { $0.map { _ in all.control.makeInbox() } }
        let repeated = await withTaskGroup(of: TokenDeduplicator?.self) { group in
            for (index, inbox) in inboxes.enumerated() {
                group.addTask { [self] in await runGateway(index, inbox) }
            }
            group.addTask { [self] in await tick() }
            group.addTask { [self] in await watch() }
            group.addTask { [self] in
                await topics?.run(lifetime: all.lifetime)
                return nil
            }
            var repeated: [TokenDeduplicator] = []
            while repeated.count < inboxes.count, let next = await group.next() {
                if let next { repeated.append(next) }
            }
            group.cancelAll()
            return repeated
        }
        var report = report
        if all.control.isEnding, !report.isComplete {
            (report.isComplete, report.isWaiting, report.wasEnded) = (true, false, true)
        }
        publish(report)
        return (report, repeated)
    }

    private func runGateway(_ index: Int, _ inbox: RunInbox) async -> TokenDeduplicator {
        let isFirst = index == 0
        let run = GatewayRun(
            gateways.isEmpty ? nil : gateways[index], unserved: isFirst ? unserved : [],
            topics: isFirst ? topics : nil, in: all, inbox
        ) { [self] part in
            reports.withLock { $0[index] = part }
            publish(report)
        }
        return await run.run()
    }

    /// Push services without a gateway, whose rows the first gateway counts.
    private var unserved: ServiceSet {
        PushService.allCases.reduce(into: []) { set, service in
            if !gateways.contains(where: { $0.service == service }) {
                set.insert(ServiceSet(service))
            }
        }
    }

    private var report: BroadcastReport { start.with(reports.withLock { $0 }) }

    /// Lets the gateways look up many times a second, or once a second where only time can help.
    private func tick() async -> TokenDeduplicator? {
        while !Task.isCancelled {
            let interval = all.control.isIdle ? Self.idleInterval : all.pace.interval
            try? await Task.sleep(for: interval)
            all.control.wake()
        }
        return nil
    }

    /// Ends in favour of another broadcast, or a rotation, what only waits.
    private func watch() async -> TokenDeduplicator? {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.idleInterval)
            let isIdle = all.control.isIdle
            guard isIdle || all.control.isSlow,
                await mustGiveWay(report.counters.hasArrived, isIdle)
            else { continue }
            all.control.supersede()
        }
        return nil
    }
}

/// What others tell the gateways of a run: that the program stops, that the operator ends the run,
/// that another broadcast is due. It knows which of them send.
final class RunControl: Sendable {
    enum Activity {
        case sending
        /// What is left is with slow hosts, or waits to be tried again.
        case slow
        /// The gateway cannot be used now.
        case away
        case over
    }

    private struct State {
        var inboxes: [(inbox: RunInbox, activity: Activity)] = []
        var isStopping = false
        var isEnding = false
        var isSuperseded = false
    }

    private let state = Mutex(State())

    /// The inbox of one more gateway.
    func makeInbox() -> RunInbox {
        let inbox = RunInbox()
        state.withLock { $0.inboxes.append((inbox, .sending)) }
        return inbox
    }

    func setActivity(_ activity: Activity, of inbox: RunInbox) {
        state.withLock { state in
            for index in state.inboxes.indices where state.inboxes[index].inbox === inbox {
                state.inboxes[index].activity = activity
            }
        }
    }

    /// Whether nothing but time can help.
    var isIdle: Bool { areAll { $0 == .away || $0 == .over } }
    /// Whether nothing but a few slow hosts are left.
    var isSlow: Bool { areAll { $0 != .sending } }

    private func areAll(_ body: (Activity) -> Bool) -> Bool {
        state.withLock { $0.inboxes.allSatisfy { body($0.activity) } }
    }

    func wake() {
        for (inbox, _) in state.withLock({ $0.inboxes }) { inbox.wake() }
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        wake()
    }

    /// Stops the run for good.
    func end() {
        state.withLock { $0.isEnding = true }
        stop()
    }

    /// Ends gateways that are slow or away.
    func supersede() {
        state.withLock { $0.isSuperseded = true }
        wake()
    }

    var isStopping: Bool { state.withLock { $0.isStopping } }
    var isEnding: Bool { state.withLock { $0.isEnding } }
    var isSuperseded: Bool { state.withLock { $0.isSuperseded } }
}

/// Reports of a gateway's session, and an event for its run.
final class RunInbox: Sendable {
    let reports: Mailbox<GatewayReport>
    private let event = AsyncEvent()

    init() { reports = Mailbox { [event] in event.signal() } }
    func wake() { event.signal() }
    func wait() async { await event.wait() }
}

extension GatewayRun {
    /// What the gateways of a run share.
    struct Surroundings: Sendable {
        let store: Store
        let scan: SharedScan
        let checkpoint: Checkpoint
        let control: RunControl
        let recent: RecentPushes
        /// Push services whose deletion breaker has let go.
        let believed: Set<PushService>
        let gonePerMille: Int
        /// Seconds for which a push service keeps a wake-up for a device that is off: until about
        /// the next one.
        let lifetime: Int
        let pace: RunPace
        /// Wake-ups of a gateway in flight, beyond what keeps it busy.
        let inFlight: Int
        let reopenInterval: Duration
        let tailPatience: Duration
        let log: Log
    }
}

extension GatewayRun.Surroundings {
    /// Progress by the rows of both generations.
    func permille(_ position: RunPosition, pending: Int) -> Int {
        let previous = Double(store.counters.previousRows.now)
        let rows = previous + Double(store.counters.currentRows.now)
        let share = rows > 0 ? previous / rows : 0.5
        return Int(position.progress(previous: share, pending: pending) * 1000)
    }
}
