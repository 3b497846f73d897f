/// New connections: whom they come from, and whether there is room.
extension Reactor {
    /// Accepted in one go, so that a flood of newcomers leaves the others their turn.
    private static let acceptsPerTurn = 64
    /// Refused connections that may linger beyond the cap; more are cut without a word.
    private static let lingeringRefusals = 128
    /// Out of descriptors, accepting is tried again after this many nanoseconds, or when a
    /// connection closes.
    private static let pause: UInt64 = 250_000_000
    private static let listenerBit: UInt64 = 1 << 63

    func listenerIndex(ofToken token: UInt64) -> Int? {
        token & Reactor.listenerBit == 0 ? nil : Int(token & ~Reactor.listenerBit)
    }

    func openListeners() {
        for index in listeners.indices { watch(listener: index) }
    }

    private func watch(listener index: Int) {
        let isWatched = loop.poller.watchReadable(
            of: listeners[index].number, token: Reactor.listenerBit | UInt64(index))
        listeners[index].isPaused = !isWatched
        if !isWatched { deadlines.set(TimerSlot.resume, to: now + Reactor.pause) }
    }

    /// Takes in newcomers; whether more may be waiting.
    @discardableResult
    func accept(from index: Int) -> Bool {
        guard index < listeners.count, !listeners[index].isPaused else { return false }
        for _ in 0..<Reactor.acceptsPerTurn {
            switch Socket.accept(from: listeners[index].number) {
            case .connection(let descriptor, let address):
                admit(descriptor, from: address, listener: index)
            case .skip: continue
            case .none: return false
            case .exhausted:
                // Level-triggered: left watched, the listener would keep the loop spinning.
                counters.dropped.increment()
                loop.poller.forget(listeners[index].number)
                listeners[index].isPaused = true
                deadlines.set(TimerSlot.resume, to: now + Reactor.pause)
                return false
            }
        }
        return true
    }

    /// Accepts again on every listener that paused.
    func resumeAccepting() {
        guard state == .serving else { return }
        for index in listeners.indices where listeners[index].isPaused { watch(listener: index) }
    }

    private func admit(_ descriptor: consuming Descriptor, from address: PeerAddress, listener: Int)
    {
        counters.accepted.increment()
        guard connections.count < limits.connections + Reactor.lingeringRefusals else {
            counters.refusedByServerError.increment()
            return
        }
        let isFull = connections.count >= limits.connections
        let number = descriptor.number
        let connection = insert(descriptor, listener: listener)
        guard loop.poller.watchEdges(of: number, token: connection.id.rawValue) else {
            close(connection)
            return
        }
        if isFull {
            turnAway(connection)
        } else if !listeners[listener].configuration.proxyProtocol, !address.isLoopback {
            identify(connection, as: address)
        }
        settle(connection)
    }

    private func insert(_ descriptor: consuming Descriptor, listener: Int) -> Connection {
        let configuration = listeners[listener].configuration
        let parser = RequestParser(limits: listeners[listener].parserLimits)
        var owned: Descriptor? = consume descriptor
        let connection = connections.insert { id in
            guard let descriptor = owned.take() else {
                preconditionFailure("the table makes one connection")
            }
            return Connection(
                id: id, descriptor: descriptor, listener: listener,
                phase: configuration.proxyProtocol ? .proxy : .reading, parser: parser)
        }
        counters.open.increment()
        return connection
    }

    /// Gives the connection its source tag and counts it against the prefix's cap.
    func identify(_ connection: Connection, as address: PeerAddress) {
        guard let source = sourceKey.tag(of: address, now: now) else { return }
        connection.source = source
        perSource[source, default: 0] += 1
        if perSource[source, default: 0] > limits.connectionsPerSource { turnAway(connection) }
    }

    private func turnAway(_ connection: Connection) {
        refuse(connection, .overloaded)
        flush(connection)
    }

    /// Ends the connection now. Whatever its state was, nothing of it remains.
    func close(_ connection: Connection) {
        if case .closed = connection.phase { return }
        if case .streaming(let hub) = connection.phase {
            let (id, source) = (connection.id, connection.source)
            hub.assumeIsolated { $0.leave(id, source: source) }
            counters.streams.decrement()
        }
        if case .piecewise(let answer) = connection.phase { answer.lose() }
        connection.phase = .closed
        wipe(&connection.pending)
        wipe(&connection.unsent)
        connection.pending = []
        connection.unsent = []
        connection.file = nil
        connection.answer.take()?.lose()
        connection.place = nil
        clearOutput()
        if let source = connection.source {
            let left = perSource[source, default: 1] - 1
            perSource[source] = left > 0 ? left : nil
        }
        deadlines.clear(TimerSlot.first + connection.id.slot)
        connections.remove(connection.id)
        counters.open.decrement()
        // The descriptor closes with the last reference to the connection, at the latest when this
        // turn ends.
        if listeners.contains(where: \.isPaused) { deadlines.set(TimerSlot.resume, to: now) }
    }
}
