import Dispatch
import Synchronization
import WakeHTTP
import WakeStore
import WakeSystem

/// `/health`: for load balancers; says nothing else.
struct Health: Sendable {
    let store: StoreCounters

    private static let fields: [(StaticString, String)] =
        [("Content-Type", "text/plain; charset=utf-8")] + Response.privateFields
    private static let well = Response(200, fields: fields, body: .bytes(Array("ok\n".utf8)))
    private static let unwell = Response(
        503, fields: fields, body: .bytes(Array("unavailable\n".utf8)))

    /// A full store still deletes and answers: it is well enough to serve.
    func response() -> Response {
        switch store.condition {
        case .ready, .full: Self.well
        case .failing, .failed, .closed: Self.unwell
        }
    }
}

/// Judges what the operator has to mend, and logs its beginning and end. On a thread of its own:
/// asking the file system and planning a broadcast take their time.
final class HealthMonitor: Sendable {
    struct Judgement: Sendable {
        let facts: TroubleFacts
        let troubles: [Trouble]
        /// Seconds since the service started.
        let uptime: Int
    }

    private let planner: BroadcastPlanner
    private let broadcaster: Broadcaster
    private let rotator: Rotator
    private let feed: FeedMonitor
    private let peers: ShardPeers
    private let transparency: TransparencyRoute
    private let log: Log
    /// Judges one after the other, so that the log has them in order.
    private let queue = DispatchQueue(label: "health")
    private let logged = Mutex(TroubleLog())
    /// The store's condition in the last judgement.
    private let condition = Atomic(StoreCondition.ready.rawValue)
    private let start = SystemClock.monotonicMilliseconds / 1000

    private static let interval = Duration.seconds(30)

    init(
        _ broadcaster: Broadcaster, _ planner: BroadcastPlanner, _ rotator: Rotator,
        feed: FeedMonitor, peers: ShardPeers, transparency: TransparencyRoute, log: Log
    ) {
        self.broadcaster = broadcaster
        self.planner = planner
        self.rotator = rotator
        self.feed = feed
        self.peers = peers
        self.transparency = transparency
        self.log = log
    }

    private var uptime: Int { Int(SystemClock.monotonicMilliseconds / 1000 - start) }

    private var facts: TroubleFacts {
        let (configuration, store) = (planner.configuration, planner.store)
        let (state, report) = (rotator.now, broadcaster.report)
        let isAwaited = configuration.heartbeat && !planner.gateways.isEmpty
        let pause = BroadcastPause(
            sinceRun: broadcaster.schedule.secondsSinceLastRun, uptime: uptime,
            interval: configuration.intervalSeconds,
            planned: max(planner.plannedSeconds, report.isRunning ? report.plannedSeconds ?? 0 : 0))
        return TroubleFacts(
            store: store.counters.condition,
            isKeyFileMissing: !configuration.keysInMemory && !Files.exists(configuration.keys),
            needed: store.renewalBytes,
            free: try? Files.freeBytes(at: configuration.data), head: feed.head,
            isHeadAwaited: feed.isFirstAwaited,
            witnesses: WitnessFacts(
                policy: configuration.witnesses, feed: configuration.feed),
            now: Int64(SystemClock.wallSeconds), report: report,
            isGatewayMissing: planner.gateways.isEmpty && planner.rows > 0,
            pause: isAwaited ? pause : nil, isRotationFailing: state.isFailing,
            violations: transparency.violations, isPeerAway: peers.isAway)
    }

    /// Gives the facts and troubles of now, on the monitor's thread; what has begun or ended since
    /// is logged before.
    func judge(_ body: @escaping @Sendable (Judgement) -> Void) {
        queue.async { [self] in
            let facts = facts
            let troubles = facts.troubles
            condition.store(facts.store.rawValue, ordering: .relaxed)
            let now = SystemClock.monotonicMilliseconds
            let changes = logged.withLock { $0.note(troubles, now: now) }
            for trouble in changes.begun { log(.trouble(trouble)) }
            for trouble in changes.over { log(.troubleOver(trouble)) }
            body(Judgement(facts: facts, troubles: troubles, uptime: uptime))
        }
    }

    /// Judges at once when the store has become worse. Called with every answer of the store: one
    /// comparison as long as all is well.
    func storeAnswered() {
        let (now, judged) = (
            planner.store.counters.condition.rawValue, condition.load(ordering: .relaxed)
        )
        guard now > judged,
            condition.compareExchange(expected: judged, desired: now, ordering: .relaxed).exchanged
        else { return }
        judge { _ in }
    }

    func run() async {
        while !Task.isCancelled {
            // No broadcast counts them then.
            if planner.gateways.isEmpty { await planner.countRegistrations() }
            await withCheckedContinuation { done in judge { _ in done.resume() } }
            try? await Task.sleep(for: Self.interval)
        }
    }
}

extension HealthMonitor.Judgement {
    /// 200 and `ok`, or 503 and the code of each trouble on a line.
    var response: Response {
        let lines = troubles.isEmpty ? ["ok"] : troubles.map(\.rawValue)
        return .text(
            lines.map { $0 + "\n" }.joined(), status: troubles.isEmpty ? 200 : 503)
    }
}
