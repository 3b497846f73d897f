import Synchronization
import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// The session stage of a run, and the table of wake-ups in flight. Used by one task.
struct RunSessions {
    private let gateways: [any Gateway]
    private var sessions: [(any GatewaySession)?]
    private var batches: [[WakeUp]]
    private var inFlight: InFlightTable
    private var nextTick = ContinuousClock.now

    private static let tickInterval = Duration.milliseconds(100)
    /// Wake-ups handed to a gateway at once; reports are read after each batch.
    private static let batch = 128

    init(_ gateways: [any Gateway], lifetime: Int, inbox: RunInbox) {
        self.gateways = gateways
        batches = gateways.map { _ in [] }
        // Enough that no gateway waits for rows while another is slow, or holds refusals.
        inFlight = InFlightTable(
            capacity: gateways.reduce(Limits.wakeUpsInFlight) {
                $0 + $1.window + ProvisionalAnswers<Int>.limit
            })
        sessions = gateways.enumerated().map { index, gateway in
            guard gateway.wakesTokens else { return nil }
            return gateway.open(lifetime: lifetime) { [mailbox = inbox.reports] report in
                mailbox.post((gateway: index, report))
            }
        }
    }

    func index(of service: PushService) -> Int? {
        gateways.firstIndex { $0.service == service && $0.wakesTokens }
    }

    func takesHeartbeats(_ token: PushToken, _ gateway: Int) -> Bool {
        gateways[gateway].takesHeartbeats(token)
    }
    func isOpen(_ gateway: Int) -> Bool { sessions[gateway] != nil }
    var isFull: Bool { inFlight.isFull }
    var inFlightCount: Int { inFlight.count }

    /// Collects a wake-up; its gateway must be open. Returns whether a batch was sent.
    mutating func send(_ entry: InFlightTable.Entry) -> Bool {
        let reference = inFlight.insert(entry)
        batches[entry.gateway].append(WakeUp(reference: reference, token: entry.row.token))
        guard batches[entry.gateway].count >= Self.batch else { return false }
        flush(entry.gateway)
        return true
    }

    mutating func flush() {
        for index in batches.indices { flush(index) }
    }

    private mutating func flush(_ index: Int) {
        guard !batches[index].isEmpty else { return }
        sessions[index]?.send(batches[index])
        batches[index].removeAll(keepingCapacity: true)
    }

    mutating func complete(_ reference: Int) -> InFlightTable.Entry { inFlight.remove(reference) }

    /// Closes the session of a failed gateway and returns what was in flight with it.
    mutating func close(_ index: Int) -> [InFlightTable.Entry] {
        sessions[index] = nil
        batches[index] = []
        return inFlight.removeAll(of: index)
    }

    func service(_ index: Int) -> PushService { gateways[index].service }

    mutating func tick() {
        let now = ContinuousClock.now
        guard now >= nextTick else { return }
        nextTick = now + Self.tickInterval
        for session in sessions { session?.tick() }
    }

    /// Asks for the outcome of everything: nothing more will be sent.
    func finish() {
        for session in sessions { session?.flush(isFinal: true) }
    }

    /// Takes everything out that was in flight when the sessions were cancelled.
    mutating func abandon() -> [InFlightTable.Entry] { sessions.indices.flatMap { close($0) } }

    /// Lets nothing more leave; true while wake-ups are still with a push service.
    func quiesce() -> Bool {
        sessions.reduce(false) { isBusy, session in (session?.quiesce() ?? 0) > 0 || isBusy }
    }

    /// Whether no push service has a wake-up now: what is left waits to be tried again.
    var areWaiting: Bool { sessions.allSatisfy { ($0?.inFlight ?? 0) == 0 } }

    func cancel() {
        for session in sessions { session?.cancel() }
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
    let capacity: Int

    init(capacity: Int) {
        precondition(capacity > 0)
        self.capacity = capacity
    }

    var count: Int { entries.count }
    var isFull: Bool { count >= capacity }
    mutating func insert(_ entry: Entry) -> Int { entries.insert { _ in entry }.slot }

    mutating func remove(_ reference: Int) -> Entry {
        guard let key = entries.key(inSlot: reference), let entry = entries.remove(key) else {
            preconditionFailure("a wake-up was completed twice")
        }
        return entry
    }

    mutating func removeAll(of gateway: Int) -> [Entry] {
        entries.keys.compactMap { key in
            entries[key]?.gateway == gateway ? entries.remove(key) : nil
        }
    }
}

/// What other threads tell a run: reports of its gateways, and that the program stops.
final class RunInbox: Sendable {
    let reports: Mailbox<(gateway: Int, report: GatewayReport)>
    private let event = AsyncEvent()
    private let stopping = Atomic<Bool>(false)

    init() { reports = Mailbox { [event] in event.signal() } }
    func wake() { event.signal() }
    func wait() async { await event.wait() }

    func stop() {
        stopping.store(true, ordering: .relaxed)
        wake()
    }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }
}
