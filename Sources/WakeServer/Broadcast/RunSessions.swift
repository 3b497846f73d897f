import Synchronization
import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// The session stage of a run, and the table of wake-ups in flight. Used by one task.
final class RunSessions {
    private enum State {
        case open
        /// The gateway may be of use again at this time.
        case unavailable(ContinuousClock.Instant)
        /// Until the operator changes something.
        case stopped
    }

    private let gateways: [any Gateway]
    /// The gateway of each push service that has one, by its raw value.
    private var indices = [Int?](repeating: nil, count: 256)
    private let lifetime: Int
    private let inbox: RunInbox
    private var states: [State]
    /// Of the open ones. Apart from the states, which every row looks up.
    private var open: [(any GatewaySession)?]
    private var batches: [[WakeUp]]
    private var inFlight: InFlightTable
    private var meters: [ThroughputMeter]
    /// Wake-ups of each gateway that were completed since its meter was updated.
    private var completed: [Int]
    private var sent: [Int]
    private var nextTick = ContinuousClock.now

    private static let tickInterval = Duration.milliseconds(100)
    /// Wake-ups handed to a gateway at once; reports are read after each batch.
    private static let batch = 256

    init(_ gateways: [any Gateway], lifetime: Int, inbox: RunInbox) {
        self.gateways = gateways
        self.lifetime = lifetime
        self.inbox = inbox
        batches = gateways.map { _ in [] }
        meters = gateways.map { _ in ThroughputMeter() }
        completed = gateways.map { _ in 0 }
        sent = completed
        // Enough that a gateway does not wait for rows while it holds refusals.
        let shared = Limits.wakeUpsInFlight / max(1, gateways.count)
        inFlight = InFlightTable(
            capacities: gateways.map { shared + $0.window + ProvisionalAnswers<Int>.limit })
        states = gateways.map { _ in .stopped }
        open = gateways.map { _ in nil }
        for index in gateways.indices.reversed() where gateways[index].wakesTokens {
            indices[Int(gateways[index].service.rawValue)] = index
        }
        for index in gateways.indices where gateways[index].wakesTokens { openSession(index) }
    }

    private func openSession(_ index: Int) {
        states[index] = .open
        open[index] = gateways[index].open(lifetime: lifetime) { [mailbox = inbox.reports] in
            mailbox.post((gateway: index, $0))
        }
    }

    private var sessions: [any GatewaySession] { open.compactMap(\.self) }
    func index(of service: PushService) -> Int? { indices[Int(service.rawValue)] }

    func takesHeartbeats(_ token: PushToken, _ gateway: Int) -> Bool {
        gateways[gateway].takesHeartbeats(token)
    }
    func isOpen(_ gateway: Int) -> Bool {
        if case .open = states[gateway] { true } else { false }
    }

    func isUnavailable(_ gateway: Int) -> Bool {
        if case .unavailable = states[gateway] { true } else { false }
    }

    /// Whether a gateway of one of these push services is open.
    func canSend(to services: ServiceSet) -> Bool {
        gateways.indices.contains {
            isOpen($0) && services.contains(ServiceSet(gateways[$0].service))
        }
    }

    func isFull(_ gateway: Int) -> Bool { inFlight.isFull(gateway) }
    var inFlightCount: Int { inFlight.count }

    /// Whether another gateway of these, with rows in the run, has too little to do.
    func isAnotherIdle(than gateway: Int, of services: ServiceSet) -> Bool {
        gateways.indices.contains { other in
            other != gateway && services.contains(ServiceSet(gateways[other].service))
                && isOpen(other) && sent[other] > 0
                && inFlight.count(of: other) < gateways[other].window
        }
    }

    /// Collects a wake-up; its gateway must be open. Returns whether a batch was sent.
    func send(_ entry: InFlightTable.Entry, mayRepeat: Bool) -> Bool {
        let reference = inFlight.insert(entry)
        sent[entry.gateway] += 1
        batches[entry.gateway].append(
            WakeUp(reference: reference, token: entry.row.token, mayRepeat: mayRepeat))
        guard batches[entry.gateway].count >= Self.batch else { return false }
        flush(entry.gateway)
        return true
    }

    func flush() {
        for index in batches.indices { flush(index) }
    }

    private func flush(_ index: Int) {
        guard !batches[index].isEmpty else { return }
        open[index]?.send(batches[index])
        batches[index].removeAll(keepingCapacity: true)
    }

    func complete(_ reference: Int) -> InFlightTable.Entry {
        let entry = inFlight.remove(reference)
        completed[entry.gateway] += 1
        return entry
    }

    /// Pushes a second, of push services with enough of them.
    var rates: [PushService: Double] {
        gateways.indices.reduce(into: [:]) { all, index in
            guard gateways[index].wakesTokens else { return }
            all[gateways[index].service] = meters[index].rate
        }
    }

    /// Closes the session of a failed gateway and returns what was in flight with it.
    /// - Parameter reopening: the time to try it again, if that may help.
    func close(
        _ index: Int, reopening: ContinuousClock.Instant?
    ) -> [InFlightTable.Entry] {
        states[index] = reopening.map { .unavailable($0) } ?? .stopped
        open[index] = nil
        batches[index] = []
        return inFlight.removeAll(of: index)
    }

    /// Push services whose gateway waits to be tried again.
    var unavailableServices: ServiceSet {
        states.indices.reduce(into: []) { services, index in
            if isUnavailable(index) { services.insert(ServiceSet(gateways[index].service)) }
        }
    }

    /// Opens new sessions with the gateways that are due.
    /// - Returns: their push services.
    func reopen(now: ContinuousClock.Instant) -> ServiceSet {
        var services: ServiceSet = []
        for index in states.indices {
            guard case .unavailable(let due) = states[index], due <= now else { continue }
            openSession(index)
            services.insert(ServiceSet(gateways[index].service))
        }
        return services
    }

    func service(_ index: Int) -> PushService { gateways[index].service }

    func tick() {
        let now = ContinuousClock.now
        guard now >= nextTick else { return }
        nextTick = now + Self.tickInterval
        for session in sessions { session.tick() }
        for index in meters.indices {
            // An eighth of the window is more than most services take at once.
            let isBusy = isOpen(index) && inFlight.count(of: index) >= gateways[index].window / 8
            meters[index].update(completed: completed[index], isBusy: isBusy, now: now)
            completed[index] = 0
        }
    }

    /// Asks for the outcome of everything: nothing more will be sent, but to these.
    func finish(but services: ServiceSet) {
        for index in gateways.indices {
            open[index]?.flush(
                isFinal: !services.contains(ServiceSet(gateways[index].service)))
        }
    }

    /// Takes everything out that was in flight when the sessions were cancelled.
    func abandon() -> [InFlightTable.Entry] {
        states.indices.flatMap { close($0, reopening: nil) }
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

/// The registrations whose wake-ups are with a gateway, by the wake-up's reference.
struct InFlightTable {
    struct Entry: Sendable {
        let row: StoreRow
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
