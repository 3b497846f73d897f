import Synchronization
import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// The session stage of a run, and the table of wake-ups in flight. Used by one task.
final class RunSessions {
    /// Whether a wake-up may be sent.
    enum Readiness {
        case free, full, unavailable, stopped
    }

    private let gateways: [any Gateway]
    /// The gateway of each push service that has one, by its raw value.
    private let indices: [Int?]
    private let lifetime: Int
    private let inbox: RunInbox
    private var table: Table
    private var nextTick = UptimeInstant.now
    /// Gateways that wait, see ``GatewayReport/delayed(_:)``.
    private var delayed: Set<Int> = []

    private static let tickInterval = Duration.milliseconds(100)

    init(_ gateways: [any Gateway], lifetime: Int, inbox: RunInbox) {
        self.gateways = gateways
        self.lifetime = lifetime
        self.inbox = inbox
        // Enough that a gateway does not wait for rows while it holds refusals.
        let shared = Limits.wakeUpsInFlight / max(1, gateways.count)
        table = Table(
            capacities: gateways.map { shared + $0.window + ProvisionalAnswers<Int>.limit })
        var indices = [Int?](repeating: nil, count: 256)
        for index in gateways.indices.reversed() where gateways[index].wakesTokens {
            indices[Int(gateways[index].service.rawValue)] = index
        }
        self.indices = indices
        for index in gateways.indices where gateways[index].wakesTokens { openSession(index) }
    }

    private func openSession(_ index: Int) {
        table.lanes[index].state = .open
        table.lanes[index].session = gateways[index].open(lifetime: lifetime) {
            [mailbox = inbox.reports] in mailbox.post((gateway: index, $0))
        }
    }

    private var sessions: [any GatewaySession] { table.lanes.compactMap(\.session) }
    func index(of service: PushService) -> Int? { indices[Int(service.rawValue)] }

    func takesHeartbeats(_ token: PushToken, _ gateway: Int) -> Bool {
        gateways[gateway].takesHeartbeats(token)
    }

    /// Lends the table for many rows.
    /// - Parameter body: must not use this object but for its gateways.
    func withTable<Result>(_ body: (inout Table) -> Result) -> Result { body(&table) }

    func readiness(_ gateway: Int) -> Readiness { table.readiness(gateway) }

    /// Whether a gateway of one of these push services is open.
    func canSend(to services: ServiceSet) -> Bool {
        gateways.indices.contains {
            table.lanes[$0].isOpen && services.contains(ServiceSet(gateways[$0].service))
        }
    }

    var inFlightCount: Int { table.inFlight.count }

    /// Whether another gateway of these, with rows in the run, has too little to do.
    func isAnotherIdle(than gateway: Int, of services: ServiceSet) -> Bool {
        gateways.indices.contains { other in
            other != gateway && services.contains(ServiceSet(gateways[other].service))
                && table.lanes[other].isOpen && table.lanes[other].sent > 0
                && table.inFlight.count(of: other) < gateways[other].window
        }
    }

    func flush() {
        for index in table.lanes.indices { table.lanes[index].flush() }
    }

    func complete(_ reference: Int) -> InFlightTable.Entry { table.complete(reference) }

    /// Pushes a second, of push services with enough of them.
    var rates: [PushService: Double] {
        gateways.indices.reduce(into: [:]) { all, index in
            guard gateways[index].wakesTokens else { return }
            all[gateways[index].service] = table.lanes[index].meter.rate
        }
    }

    /// - Returns: the gateway's push service.
    func delay(_ index: Int, _ isDelayed: Bool) -> PushService {
        if isDelayed { delayed.insert(index) } else { delayed.remove(index) }
        return gateways[index].service
    }

    /// Whether nothing is on its way, and all that waits is with gateways that wait.
    var areDelayed: Bool {
        areWaiting
            && gateways.indices.allSatisfy {
                delayed.contains($0) || table.inFlight.count(of: $0) == 0
            }
    }

    /// Closes the session of a failed gateway and returns what was in flight with it.
    /// - Parameter reopening: the time to try it again, if that may help.
    func close(
        _ index: Int, reopening: UptimeInstant?
    ) -> [InFlightTable.Entry] {
        delayed.remove(index)
        table.lanes[index].state = reopening.map { .unavailable($0) } ?? .stopped
        table.lanes[index].session = nil
        table.lanes[index].batch = []
        return table.inFlight.removeAll(of: index)
    }

    /// Push services whose gateway waits to be tried again.
    var unavailableServices: ServiceSet {
        table.lanes.indices.reduce(into: []) { services, index in
            guard table.lanes[index].isUnavailable else { return }
            services.insert(ServiceSet(gateways[index].service))
        }
    }

    /// Opens new sessions with the gateways that are due.
    /// - Returns: their push services.
    func reopen(now: UptimeInstant) -> ServiceSet {
        var services: ServiceSet = []
        for index in table.lanes.indices {
            guard case .unavailable(let due) = table.lanes[index].state, due <= now
            else { continue }
            openSession(index)
            services.insert(ServiceSet(gateways[index].service))
        }
        return services
    }

    func service(_ index: Int) -> PushService { gateways[index].service }

    func tick() {
        let now = UptimeInstant.now
        guard now >= nextTick else { return }
        nextTick = now + Self.tickInterval
        for session in sessions { session.tick() }
        for index in table.lanes.indices {
            // An eighth of the window is more than most services take at once.
            let isBusy =
                table.lanes[index].isOpen
                && table.inFlight.count(of: index) >= gateways[index].window / 8
            let completed = table.lanes[index].completed
            table.lanes[index].meter.update(completed: completed, isBusy: isBusy, now: now)
            table.lanes[index].completed = 0
        }
    }

    /// Asks for the outcome of everything: nothing more will be sent, but to these.
    func finish(but services: ServiceSet) {
        for index in gateways.indices {
            table.lanes[index].session?.flush(
                isFinal: !services.contains(ServiceSet(gateways[index].service)))
        }
    }

    /// Takes everything out that was in flight when the sessions were cancelled.
    func abandon() -> [InFlightTable.Entry] {
        table.lanes.indices.flatMap { close($0, reopening: nil) }
    }

    /// Lets nothing more leave; true while wake-ups are still with a push service.
    func quiesce() -> Bool {
        sessions.reduce(false) { isBusy, session in session.quiesce() > 0 || isBusy }
    }

    /// Wake-ups that the push services have, or may have.
    var sentCount: Int { sessions.reduce(0) { $0 + $1.inFlight } }
    /// Whether they have none now: what is left waits to be tried again.
    var areWaiting: Bool { sentCount == 0 }

    func cancel() {
        for session in sessions { session.cancel() }
    }
}

extension RunSessions {
    /// What every row looks at, in one value: each look at a property of an object has its price.
    struct Table {
        /// By index of the gateway.
        fileprivate var lanes: [Lane]
        fileprivate var inFlight: InFlightTable

        /// - Parameter capacities: by gateway, see ``InFlightTable``.
        fileprivate init(capacities: [Int]) {
            lanes = capacities.map { _ in Lane() }
            inFlight = InFlightTable(capacities: capacities)
        }

        func readiness(_ gateway: Int) -> Readiness {
            switch lanes[gateway].state {
            case .open: inFlight.isFull(gateway) ? .full : .free
            case .unavailable: .unavailable
            case .stopped: .stopped
            }
        }

        /// Collects a wake-up; its gateway must be open. Returns whether a batch was sent.
        mutating func send(
            _ entry: InFlightTable.Entry, _ token: PushToken, mayRepeat: Bool
        ) -> Bool {
            let reference = inFlight.insert(entry)
            return lanes[entry.gateway].add(
                WakeUp(reference: reference, token: token, mayRepeat: mayRepeat))
        }

        mutating func complete(_ reference: Int) -> InFlightTable.Entry {
            let entry = inFlight.remove(reference)
            lanes[entry.gateway].completed += 1
            return entry
        }
    }

    /// One gateway of the run.
    fileprivate struct Lane {
        enum State {
            case open
            /// The gateway may be of use again at this time.
            case unavailable(UptimeInstant)
            /// Until the operator changes something.
            case stopped
        }

        var state = State.stopped
        /// Set while open.
        var session: (any GatewaySession)?
        var batch: [WakeUp] = []
        var meter = ThroughputMeter()
        /// Wake-ups that were completed since the meter was updated.
        var completed = 0
        var sent = 0

        var isOpen: Bool { if case .open = state { true } else { false } }
        var isUnavailable: Bool { if case .unavailable = state { true } else { false } }

        /// Wake-ups handed to a gateway at once; reports are read after each batch.
        private static let size = 256

        /// - Returns: whether a batch was sent.
        mutating func add(_ wakeUp: WakeUp) -> Bool {
            sent += 1
            batch.append(wakeUp)
            guard batch.count >= Self.size else { return false }
            flush()
            return true
        }

        mutating func flush() {
            guard !batch.isEmpty else { return }
            session?.send(batch)
            batch.removeAll(keepingCapacity: true)
        }
    }
}

/// The registrations whose wake-ups are with a gateway, by the wake-up's reference.
struct InFlightTable {
    /// Without the push token, which the gateway has: nothing here is counted by reference.
    struct Entry: Sendable {
        let row: RowIdentity
        let service: PushService
        /// Of an endpoint of Web Push.
        let host: PushHostKind?
        /// Of the push token, see ``TokenDeduplicator``.
        let hash: UInt64
        let generation: Generation
        let gateway: Int
        let segment: Int
    }

    private var entries = SlotMap<Entry>()
    private let capacities: [Int]
    private var counts: [Int]

    /// - Parameter capacities: by gateway; each at least 1.
    init(capacities: [Int]) {
        precondition(capacities.allSatisfy { $0 > 0 })
        self.capacities = capacities
        counts = capacities.map { _ in 0 }
    }

    var count: Int { entries.count }
    func count(of gateway: Int) -> Int { counts[gateway] }
    func isFull(_ gateway: Int) -> Bool { counts[gateway] >= capacities[gateway] }

    mutating func insert(_ entry: Entry) -> Int {
        counts[entry.gateway] += 1
        return entries.insert { _ in entry }.slot
    }

    mutating func remove(_ reference: Int) -> Entry {
        guard let key = entries.key(inSlot: reference), let entry = entries.remove(key) else {
            preconditionFailure("a wake-up was completed twice")
        }
        counts[entry.gateway] -= 1
        return entry
    }

    mutating func removeAll(of gateway: Int) -> [Entry] {
        counts[gateway] = 0
        return entries.keys.compactMap { key in
            entries[key]?.gateway == gateway ? entries.remove(key) : nil
        }
    }
}

/// What other threads tell a run: reports of its gateways, that the program stops, and that the
/// operator ends the run.
final class RunInbox: Sendable {
    let reports: Mailbox<(gateway: Int, report: GatewayReport)>
    private let event = AsyncEvent()
    private let stopping = Atomic<Bool>(false)
    private let ending = Atomic<Bool>(false)
    private let idle = Atomic<Bool>(false)

    init() { reports = Mailbox { [event] in event.signal() } }
    func wake() { event.signal() }
    func wait() async { await event.wait() }

    func stop() {
        stopping.store(true, ordering: .relaxed)
        wake()
    }

    /// Stops the run for good.
    func end() {
        ending.store(true, ordering: .relaxed)
        stop()
    }

    /// Whether nothing but time can help the run: it looks up once a second.
    var isIdle: Bool {
        get { idle.load(ordering: .relaxed) }
        set { idle.store(newValue, ordering: .relaxed) }
    }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }
    var isEnding: Bool { ending.load(ordering: .relaxed) }
}
