import CLinux
import WakeSystem

/// The engine's thread: one poll loop over all connections, without a closure or task per push.
final class PushLoop {
    private let configuration: EngineConfiguration
    private let context: TLSContext?
    private let poller: Poller
    private let mailbox: Mailbox<EngineCommand>
    private let deliver: @Sendable (PushOutcomes) -> Void
    private var template: RequestTemplate
    private var queue = PushQueue()
    /// Two for each connection of the configuration: while one drains, the other takes its place.
    private let connections: [EngineConnection]
    /// By place, the connection in use.
    private var active: [Int]
    /// Places whose connections are made when they are idle; others are only used while open.
    private var wanted = 0
    /// Ticks in a row at which pushes waited.
    private var waitingTicks = 0
    private var outcomes = PushOutcomes()
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    /// A connection was open: the configuration is right.
    private var hasOpened = false
    private var nextTick: UInt64 = 0
    private var heldSince: UInt64?
    /// Since when pushes have waited without any connection, and without any answer.
    private var unconnectedSince: UInt64?
    private var unansweredSince: UInt64?

    init(
        _ configuration: EngineConfiguration, _ context: TLSContext?, _ poller: Poller,
        _ mailbox: Mailbox<EngineCommand>, deliver: @escaping @Sendable (PushOutcomes) -> Void
    ) {
        self.configuration = configuration
        self.context = context
        self.poller = poller
        self.mailbox = mailbox
        self.deliver = deliver
        template = configuration.template
        active = Array(0..<configuration.connections)
        connections = (0..<2 * configuration.connections).map {
            EngineConnection(index: $0, configuration)
        }
    }

    func run() {
        var events = [linux_event](repeating: linux_event(), count: 256)
        var timeout: Int32 = -1
        var isOver = false
        while !isOver {
            let count = poller.wait(into: &events, milliseconds: timeout)
            let now = configuration.time.milliseconds()
            for event in events[..<count] where event.token != Poller.wakeToken {
                connections[Int(event.token & 0xffff_ffff)].record(
                    PollEvents(rawValue: event.bits), number: Int(event.token >> 32))
            }
            // In this order: what was posted before the end is executed.
            isOver = mailbox.isClosed
            for command in mailbox.take() { execute(command, now) }
            wanted = placesNeeded()
            for connection in connections { serve(connection, now) }
            replaceDraining()
            if now >= nextTick { tick(now) }
            if heldSince == nil, !outcomes.isEmpty { heldSince = now }
            var pending = pending()
            if pending.handsOver(outcomes.results.count, now: now) {
                handOver()
                pending.heldSince = nil
            }
            timeout = pending.timeout(now: now, tick: nextTick)
        }
        end()
    }

    private func pending() -> PollTimeout {
        var pending = PollTimeout(isQueued: queue.count > 0, heldSince: heldSince)
        for connection in connections {
            if connection.isRunnable(isQueued: pending.isQueued) { pending.isRunnable = true }
            if connection.awaitsPeer { pending.awaitsPeer = true }
            let attempt = isWanted(connection) ? connection.nextAttempt : nil
            if let due = attempt ?? connection.nextAddress {
                pending.nextAttempt = min(pending.nextAttempt ?? due, due)
            }
        }
        return pending
    }

    /// A few pushes need one connection, however many there may be; a further one is made when the
    /// others are half full, so that it is there in time. When pushes go on waiting, those in use
    /// are slow or narrow, and one more is made at every tick.
    private func placesNeeded() -> Int {
        let pushes = connections.reduce(queue.count) { $0 + $1.inFlight }
        let half = EngineConfiguration.usualStreams / 2
        // The first two ticks may be at once and at the end of a handshake.
        let further = queue.count > 0 ? max(0, waitingTicks - 2) : 0
        let places = min((pushes + half - 1) / half + further, active.count)
        // What is in flight already needs no other connection.
        return queue.count == 0 && places == 1 ? 0 : places
    }

    private func isWanted(_ connection: EngineConnection) -> Bool {
        let place = connection.index % active.count
        return place < wanted && active[place] == connection.index
    }

    /// Puts the idle connection of a place into use when the other one drains.
    private func replaceDraining() {
        for place in active.indices where connections[active[place]].isDraining {
            let other = (active[place] + active.count) % connections.count
            if connections[other].nextAttempt != nil { active[place] = other }
        }
    }

    private func execute(_ command: EngineCommand, _ now: UInt64) {
        switch command {
        case .batch(let batch): queue.append(batch)
        case .template(let template):
            self.template = template
            for connection in connections { connection.update(template) }
        case .resolved(let index, let result):
            handle(connections[index].connect(result, now: now))
        }
    }

    private func serve(_ connection: EngineConnection, _ now: UInt64) {
        if isWanted(connection), let attempt = connection.nextAttempt, now >= attempt {
            resolve(connection, now)
        }
        handle(connection.open(template, context, poller, now: now))
        guard connection.isOpen else { return }
        connection.read(into: &buffer, now: now)
        connection.write(from: &queue, now: now)
        connection.takeOutcomes(into: &outcomes, &queue, now: now)
    }

    private func resolve(_ connection: EngineConnection, _ now: UInt64) {
        connection.attempt(now: now)
        let (host, port) = (configuration.host, configuration.port)
        let (mailbox, index) = (mailbox, connection.index)
        // getaddrinfo(3) blocks.
        do {
            try SystemThread.start {
                let result = SocketAddress.resolve(host, port: port)
                mailbox.post(.resolved(connection: index, result), weight: 0)
            }
        } catch { handle(connection.fail(nil)) }
    }

    private func handle(_ progress: EngineConnection.Progress) {
        switch progress {
        case .pending: break
        case .opened:
            hasOpened = true
            unconnectedSince = nil
        case .failed(let failure):
            guard let failure, !connections.contains(where: \.isOpen) else { return }
            // After a first connection the configuration is right; a certificate may expire.
            if case .connection(.certificate) = failure {} else if hasOpened { return }
            queue.fail(failure, into: &outcomes)
        }
    }

    private func tick(_ now: UInt64) {
        nextTick = now + 500
        for connection in connections where connection.isOpen {
            connection.tick(now: now, isQueued: queue.count > 0)
            connection.write(from: &queue, now: now)
            connection.takeOutcomes(into: &outcomes, &queue, now: now)
        }
        guard queue.count > 0 else {
            (unconnectedSince, unansweredSince, waitingTicks) = (nil, nil, 0)
            return
        }
        waitingTicks = min(waitingTicks + 1, active.count + 2)
        let isConnected = connections.contains(where: \.isOpen)
        unconnectedSince = isConnected ? nil : unconnectedSince ?? now
        unansweredSince = unansweredSince ?? now
        let unconnected = now - (unconnectedSince ?? now)
        let unanswered = now - (unansweredSince ?? now)
        guard
            unconnected >= configuration.patienceMilliseconds
                || unanswered >= configuration.answerPatienceMilliseconds
        else { return }
        let last = connections.compactMap(\.lastEnd).max { $0.at < $1.at }
        queue.fail(last?.goAway.map(PushFailure.closed) ?? .unreachable, into: &outcomes)
        (unconnectedSince, unansweredSince) = (nil, nil)
    }

    private func handOver() {
        guard !outcomes.isEmpty else { return }
        heldSince = nil
        if outcomes.results.contains(where: \.isAnswered) { unansweredSince = nil }
        var all = PushOutcomes()
        swap(&all, &outcomes)
        outcomes.results.reserveCapacity(all.results.count)
        mailbox.release(all.results.count)
        deliver(all)
    }

    private func end() {
        let now = configuration.time.milliseconds()
        for connection in connections {
            connection.cancel()
            connection.takeOutcomes(into: &outcomes, &queue, now: now)
        }
        queue.fail(.cancelled, into: &outcomes)
        handOver()
    }
}

/// The work left after one pass of the engine's loop, and the time the thread may sleep.
struct PollTimeout: Equatable {
    /// Outcomes are handed over by the thousand: the most that are held back, and for how long.
    static let heldResults = 8192
    static let heldMilliseconds: UInt64 = 4

    var isRunnable = false
    /// An answer, or the end of a handshake.
    var awaitsPeer = false
    var isQueued = false
    /// The time of the next attempt to connect.
    var nextAttempt: UInt64?
    var heldSince: UInt64?

    func handsOver(_ results: Int, now: UInt64) -> Bool {
        guard let heldSince else { return false }
        return results == 0 || results >= Self.heldResults || !(awaitsPeer || isQueued)
            || now >= heldSince + Self.heldMilliseconds
    }

    /// Milliseconds to sleep; -1 without limit, for an idle engine.
    func timeout(now: UInt64, tick: UInt64) -> Int32 {
        if isRunnable { return 0 }
        var until = UInt64.max
        if awaitsPeer || isQueued { until = tick }
        if let nextAttempt { until = min(until, nextAttempt) }
        if let heldSince { until = min(until, heldSince + Self.heldMilliseconds) }
        guard until < UInt64.max else { return -1 }
        return until > now ? Int32(min(until - now, 60_000)) : 0
    }
}
