import CLinux
import WakeSystem

/// The loop's body, an actor pinned to it: waits in epoll, accepts, and passes events on.
actor Reactor {
    private enum State {
        case idle, serving, draining
        /// Nothing is left to do; `serve` resumes and makes it `over`.
        case drained
        case over
    }

    nonisolated let loop: EventLoop
    nonisolated let counters: HTTPCounters
    private var limits: HTTPLimits
    private let clock: LoopClock
    /// Responders and hubs reach it on the loop.
    let connections: ConnectionPool
    private var listeners: [Listener]
    private var events: [linux_event]

    private var state = State.idle
    private var mustDrain = false
    private var whenDrained: CheckedContinuation<Void, Never>?
    /// Nanoseconds, read once per turn.
    private var now: UInt64
    /// The end of draining, and the next attempt to accept after descriptors ran out.
    private var deadlines = DeadlineTable(grain: 1)
    private static let drainSlot = 0
    private static let resumeSlot = 1

    private static let eventsPerWait = 256
    /// Accepted in one go, so that a flood of new connections leaves time for the others.
    private static let acceptsPerTurn = 64
    /// Out of descriptors: nanoseconds to the next attempt, unless a connection closes before.
    private static let acceptPause: UInt64 = 250_000_000
    private static let listenerBit: UInt64 = 1 << 63

    init(
        listeners: consuming sending [Listener], limits: HTTPLimits, loop: EventLoop,
        clock: LoopClock
    ) {
        self.listeners = listeners
        self.limits = limits
        self.loop = loop
        self.clock = clock
        let counters = HTTPCounters()
        self.counters = counters
        now = clock.monotonic()
        connections = ConnectionPool(
            limits: limits, counters: counters, now: now, wallSeconds: clock.wall())
        events = Array(repeating: linux_event(), count: Reactor.eventsPerWait)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    var isServing: Bool { state == .serving }

    /// Serves until `drain` is called and done.
    func serve() async {
        state = .serving
        connections.setReactor(self)
        resumeAccepting()
        if mustDrain { drain() }
        if state != .drained { await withCheckedContinuation { whenDrained = $0 } }
        // Only now may the loop end: a task that resumes by way of the pool still needs it.
        state = .over
    }

    /// Waits once and does what there is to do; false when the server is over.
    func turn() -> Bool {
        guard state != .over else { return false }
        let count = loop.poller.wait(into: &events, milliseconds: wait)
        now = clock.monotonic()
        connections.setTime(now, wallSeconds: clock.wall())
        let open = connections.count
        for index in 0..<count {
            let event = events[index]
            if event.token == Poller.wakeToken { continue }
            if event.token & Reactor.listenerBit != 0 {
                accept(from: Int(event.token & ~Reactor.listenerBit))
            } else {
                connections.handle(
                    PollEvents(rawValue: event.bits),
                    of: ConnectionSocket.Key(rawValue: event.token))
            }
        }
        connections.advance()
        expire()
        // A descriptor is free again.
        if connections.count < open, listeners.contains(where: \.isPaused) { resumeAccepting() }
        endIfDrained()
        return state != .over
    }

    /// Milliseconds until the next deadline; -1 without one.
    private var wait: Int32 {
        let waits = (connections.wait, deadlines.wait(from: now))
        return waits.0 < 0 ? waits.1 : waits.1 < 0 ? waits.0 : min(waits.0, waits.1)
    }

    private func expire() {
        for slot in deadlines.expired(at: now) {
            if slot == Reactor.drainSlot { connections.dropAll() }
            if slot == Reactor.resumeSlot { resumeAccepting() }
        }
    }

    // MARK: Accepting

    /// Watches every listener that is paused, as all are at first.
    private func resumeAccepting() {
        guard state == .serving else { return }
        for (index, listener) in listeners.enumerated() where listener.isPaused {
            let token = Reactor.listenerBit | UInt64(index)
            if !listener.watch(by: loop.poller, token: token) { pauseAccepting() }
        }
    }

    private func pauseAccepting() {
        deadlines.set(Reactor.resumeSlot, to: now + Reactor.acceptPause)
    }

    /// Accepts waiting connections; whether more may be waiting.
    @discardableResult
    private func accept(from index: Int) -> Bool {
        guard index < listeners.count else { return false }
        let listener = listeners[index]
        for attempt in 0..<Reactor.acceptsPerTurn {
            switch listener.accept() {
            case .connection(let descriptor, let address):
                guard mayUse(descriptor, at: listener) || makeRoom() else {
                    counters.dropped.add()
                    return pause(listener)
                }
                connections.add(descriptor, from: address, by: listener, loop.poller)
            case .skip: continue
            case .none: return false
            case .exhausted:
                // The kernel says so before it looks whether anybody waits. Somebody did at the
                // first call; of others epoll tells again.
                guard attempt == 0 else { return false }
                guard makeRoom() else {
                    counters.dropped.add()
                    return pause(listener)
                }
            }
        }
        return true
    }

    func setDescriptors(_ count: Int) { limits.descriptors = count }

    private func mayUse(_ descriptor: borrowing Descriptor, at listener: Listener) -> Bool {
        listener.configuration.reserved != nil || Int(descriptor.number) < limits.descriptors
    }

    /// Frees descriptors of listeners that have none in reserve.
    private func makeRoom() -> Bool {
        listeners.contains { $0.configuration.reserved == nil && connections.makeRoom(at: $0) }
    }

    private func pause(_ listener: Listener) -> Bool {
        listener.pause(loop.poller)
        pauseAccepting()
        return false
    }

    // MARK: The end

    /// Stops accepting; serving ends when the requests in flight are answered, or when time is up.
    func drain() {
        mustDrain = true
        guard state == .serving else { return }
        // Connections that the kernel has let in may have sent requests: answered, not reset.
        for index in listeners.indices {
            var rounds = 0
            while rounds < 64, accept(from: index) { rounds += 1 }
        }
        state = .draining
        // Closing also takes it out of epoll. What still waits is reset, and tries elsewhere.
        for listener in listeners { listener.close() }
        deadlines.set(Reactor.drainSlot, to: now + UInt64(limits.drainSeconds) * 1_000_000_000)
        connections.drain()
        endIfDrained()
    }

    private func endIfDrained() {
        guard state == .draining, connections.count == 0 else { return }
        state = .drained
        deadlines.clear(Reactor.drainSlot)
        // Handlers may hold what holds this actor.
        listeners = []
        connections.setReactor(nil)
        whenDrained?.resume()
        whenDrained = nil
    }
}
