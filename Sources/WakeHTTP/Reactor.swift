import CLinux

/// Owns everything the loop's thread works on: listeners, connections, deadlines and the shared
/// buffers. An actor pinned to the loop; `turn` is the loop's body. Its verbs are in the
/// extensions.
actor Reactor {
    enum State {
        case idle, serving, draining
        /// Nothing is left to do; `serve` has been told and will make it `over`.
        case drained
        case over
    }

    /// Bytes to be sent to subscribers, some at a time so that requests get their turn.
    struct FanOut {
        let bytes: [UInt8]
        let receivers: [ConnectionID]
        var next = 0
    }

    nonisolated let loop: EventLoop
    nonisolated let counters = HTTPCounters()
    nonisolated let limits: HTTPLimits
    let clock: LoopClock
    let random: @Sendable () -> UInt64
    let refusals: RefusalResponses

    var state = State.idle
    private var wasToldToDrain = false
    private var whenOver: CheckedContinuation<Void, Never>?

    var listeners: [Listener]
    var connections = ConnectionTable()
    var perSource: [SourceTag: Int] = [:]
    var sourceKey: SourceKey
    var deadlines = DeadlineTable(grain: 50_000_000)
    /// Connections with something left to do that needs no event.
    var ready: [ConnectionID] = []
    var fanOuts: [FanOut] = []

    /// Nanoseconds, read once per turn.
    var now: UInt64
    var date = DateField()
    private var events: [linux_event]
    /// Every read goes through it; wiped after each.
    var input: [UInt8]
    /// Answers of the connection at work; empty between two connections.
    var output: [UInt8] = []

    static let inputBytes = 16_384
    /// Answers of pipelined requests are sent together, up to half of this.
    static let outputCapacity = 131_072

    init(
        listeners: consuming sending [Listener], limits: HTTPLimits, loop: EventLoop,
        clock: LoopClock,
        random: @escaping @Sendable () -> UInt64 = systemRandom
    ) {
        self.listeners = listeners
        self.limits = limits
        self.loop = loop
        self.clock = clock
        self.random = random
        refusals = RefusalResponses(retryAfterSeconds: limits.retryAfterSeconds)
        now = clock.monotonic()
        sourceKey = SourceKey(
            life: UInt64(limits.sourceKeySeconds) * 1_000_000_000, now: now,
            random: random)
        events = Array(repeating: linux_event(), count: Poller.batch)
        input = Array(repeating: 0, count: Reactor.inputBytes)
        output.reserveCapacity(Reactor.outputCapacity)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Serves until told to drain and done with it.
    func serve() async {
        state = .serving
        date.update(to: clock.wall())
        openListeners()
        if wasToldToDrain { drain() }
        if state != .drained { await withCheckedContinuation { whenOver = $0 } }
        // Only now may the loop end: a task resumes by way of the pool, and the loop must still be
        // there for it.
        state = .over
    }

    /// Stops accepting and ends when the answers in flight are written, or when time is up.
    func drain() {
        wasToldToDrain = true
        guard state == .serving else { return }
        beginDraining()
        endIfDrained()
    }

    /// Waits once and does what there is to do; false when the server is over.
    func turn() -> Bool {
        guard state != .over else { return false }
        let hasWork = !ready.isEmpty || !fanOuts.isEmpty
        let count = loop.poller.wait(
            into: &events, milliseconds: hasWork ? 0 : deadlines.wait(from: now))
        now = clock.monotonic()
        date.update(to: clock.wall())
        for index in 0..<count { take(events[index]) }
        takeReady()
        continueFanOut()
        expire()
        endIfDrained()
        return state != .over
    }

    private func take(_ event: linux_event) {
        if event.token == Poller.wakeToken { return }
        if let listener = listenerIndex(ofToken: event.token) {
            accept(from: listener)
        } else if let connection = connections[ConnectionID(rawValue: event.token)] {
            take(event.bits, for: connection)
        }
    }

    private func takeReady() {
        let waiting = ready
        ready.removeAll(keepingCapacity: true)
        for id in waiting {
            guard let connection = connections[id] else { continue }
            connection.isQueued = false
            drive(connection)
        }
    }

    /// Has `connection` driven again in the next turn.
    func queue(_ connection: Connection) {
        guard !connection.isQueued else { return }
        connection.isQueued = true
        ready.append(connection.id)
    }

    private func endIfDrained() {
        guard state == .draining, connections.count == 0 else { return }
        state = .drained
        deadlines.clear(TimerSlot.drain)
        // Handlers may hold what holds this actor.
        listeners = []
        whenOver?.resume()
        whenOver = nil
    }
}
