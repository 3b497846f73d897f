import Synchronization
import WakeFeed
import WakeSystem

/// A change of what a client knows or has to deliver, signalled to everybody who waits for one.
final class ChangeSignal: Sendable {
    private struct State {
        var events: [UInt64: AsyncEvent] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    func signal() {
        for event in state.withLock({ Array($0.events.values) }) { event.signal() }
    }

    /// Signals `event` from now on, too.
    /// - Returns: the number by which to remove it.
    @discardableResult
    func add(_ event: AsyncEvent) -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            state.events[state.lastNumber] = event
            return state.lastNumber
        }
    }

    func remove(_ number: UInt64) { _ = state.withLock { $0.events.removeValue(forKey: number) } }
}

/// The place of one loop over a client's events. What it was handed and has not confirmed goes back
/// to the queue with it.
final class EventSubscriber: Sendable {
    private struct State {
        var status: ClientStatus?
        /// The warning that was handed out last, and is over when the next event is asked for.
        var warning: Int64?
        /// Until then a cycle is waited for, before anything is handed out.
        var hold: (cycle: Int, deadline: Duration)?
        /// The app works on an event.
        var isBusy = false
        /// Runs of the client that had ended when the first event was asked for.
        var runsEndedBefore: Int?
    }

    let changed = AsyncEvent()
    private let client: WakeClient
    private let number: UInt64
    private let state = Mutex(State())

    init(_ client: WakeClient) {
        self.client = client
        number = client.change.add(changed)
    }

    deinit {
        client.change.remove(number)
        let state = state.withLock { $0 }
        if state.isBusy { client.environment.appWork(-1) }
        guard let warning = state.warning else { return }
        client.returned.add(.warning(warning))
    }

    func next() async -> ClientEvent? { await client.nextEvent(for: self) }

    // MARK: By the client

    /// The app has an event to work on, or has asked for the next one.
    func setBusy(_ isBusy: Bool) {
        let wasBusy = state.withLock { state in
            defer { state.isBusy = isBusy }
            return state.isBusy
        }
        if isBusy != wasBusy { client.environment.appWork(isBusy ? 1 : -1) }
    }

    /// The warning that the loop has handled by asking for more.
    func takeWarning() -> Int64? {
        state.withLock { state in
            defer { state.warning = nil }
            return state.warning
        }
    }

    func hand(warning: Int64?) { state.withLock { $0.warning = warning } }

    /// - Returns: whether it is news for this loop.
    func takes(_ status: ClientStatus) -> Bool {
        state.withLock { state in
            guard state.status?.differs(from: status) ?? true else { return false }
            state.status = status
            return true
        }
    }

    /// The number of runs that had ended when this loop began, which is this one at first.
    func runsEndedBefore(_ runsEnded: Int) -> Int {
        state.withLock { state in
            let before = state.runsEndedBefore ?? runsEnded
            state.runsEndedBefore = before
            return before
        }
    }

    var hasStatus: Bool { state.withLock { $0.status != nil } }

    /// The time for which a cycle that runs keeps matches back: 30 s at most.
    func hold(for cycle: Int, now: Duration) -> Duration? {
        state.withLock { state in
            if state.hold?.cycle != cycle { state.hold = (cycle, now + .seconds(30)) }
            guard let deadline = state.hold?.deadline, deadline > now else { return nil }
            return deadline - now
        }
    }
}

/// What loops gave back, from any thread, until the client puts it into the queue again.
final class ReturnedEvents: Sendable {
    enum Item: Sendable {
        case match(MatchID)
        case warning(Int64)
    }

    private let items = Mutex<[Item]>([])
    private let change: ChangeSignal
    private let event: AsyncEvent

    init(_ change: ChangeSignal, _ event: AsyncEvent) {
        self.change = change
        self.event = event
    }

    func add(_ item: Item) {
        items.withLock { $0.append(item) }
        event.signal()
        change.signal()
    }

    func takeAll() -> [Item] {
        items.withLock { items in
            defer { items = [] }
            return items
        }
    }
}

/// The right to end the delivery of one match, once; dropped unused, it gives the match back.
final class DeliveryTicket: Sendable {
    enum End: Sendable { case acknowledged, postponed }

    private let id: MatchID
    private let client: WakeClient
    private let hasEnded = Mutex(false)

    init(_ id: MatchID, of client: WakeClient) {
        self.id = id
        self.client = client
    }

    deinit {
        guard !hasEnded.withLock({ $0 }) else { return }
        client.returned.add(.match(id))
    }

    func end(_ end: End) async {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        if isFirst { await client.end(id, end) }
    }
}
