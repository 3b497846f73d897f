import CLinux
import WakeSystem

/// The connections of a server: carries out the actions of each `HTTPConnection`, sends its output,
/// calls handlers and meets deadlines. It belongs to the `Reactor`, on whose thread it lives.
final class ConnectionPool {
    private let limits: HTTPLimits
    private let counters: HTTPCounters
    private let context: ConnectionContext
    private var connections = SlotMap<ConnectionSocket>()
    private var sources = SourceCounts()
    private var hasher: PrefixHasher
    /// By the connection's slot.
    private var deadlines = DeadlineTable(grain: 50_000_000)
    /// Connections with something left to do that needs no event.
    private var ready: [ConnectionSocket.Key] = []
    /// Publications on their way to subscribers, in parts so that requests continue meanwhile.
    private var publications = Deque<(bytes: [UInt8], receivers: [ConnectionSocket.Key])>()
    /// Until then nobody is looked for who could make room: there was nobody.
    private var nextSearch: UInt64 = 0
    /// The actor that responders and hubs name; nil before and after serving.
    private var reactor: Reactor?
    /// The connection whose handler is being called.
    private var handling: ConnectionSocket.Key?
    /// The buffer of every read; wiped after each.
    private var input: [UInt8]

    private static let inputBytes = 16_384
    /// Connections that make room at once, so that a search serves several new ones; nanoseconds
    /// between two searches in vain.
    private static let roomAtOnce = 32
    private static let searchPause: UInt64 = 50_000_000
    /// Subscribers in a part of a publication, and waiting parts; beyond it the oldest are sent.
    private static let receiversPerPart = 512
    private static let waitingParts = 2_048

    init(limits: HTTPLimits, counters: HTTPCounters, now: UInt64, wallSeconds: Int) {
        self.limits = limits
        self.counters = counters
        context = ConnectionContext(limits: limits, counters: counters)
        context.setTime(now, wallSeconds: wallSeconds)
        hasher = PrefixHasher(life: UInt64(limits.sourceKeySeconds) * 1_000_000_000, now: now)
        input = Array(repeating: 0, count: ConnectionPool.inputBytes)
    }

    func setReactor(_ reactor: Reactor?) { self.reactor = reactor }

    var count: Int { connections.count }

    /// Milliseconds until something is to be done without an event; -1 when nothing is.
    var wait: Int32 {
        ready.isEmpty && publications.isEmpty ? deadlines.wait(from: context.now) : 0
    }

    // MARK: The reactor's side

    func setTime(_ now: UInt64, wallSeconds: Int) {
        context.setTime(now, wallSeconds: wallSeconds)
    }

    /// Takes over an accepted socket.
    func add(
        _ descriptor: consuming Descriptor, from address: PeerAddress, by listener: Listener,
        _ poller: Poller
    ) {
        counters.accepted.add()
        let isFull = listener.open >= listener.places && !makeRoom(at: listener)
        let lingering = min(HTTPLimits.lingeringRejections, listener.places)
        guard listener.open < listener.places + lingering else {
            counters.refusedByServerError.add()
            return
        }
        let key = connections.nextKey
        let connection = ConnectionSocket(key: key, descriptor: descriptor, listener: listener)
        _ = connections.insert { _ in connection }
        listener.opened()
        counters.open.add()
        guard connection.watch(by: poller) else {
            return perform(connection.http.close(), on: connection)
        }
        if isFull {
            reject(connection, .overloaded)
        } else if !listener.configuration.proxyProtocol, !address.isLoopback {
            identify(connection, as: address)
        }
        finish(connection)
    }

    /// Closes connections of a listener that have waited longest for their clients: one that
    /// holds connections without using them keeps nobody else out.
    /// - Returns: false when every connection is in use.
    func makeRoom(at listener: Listener) -> Bool {
        guard context.now >= nextSearch else { return false }
        let share = max(1, min(ConnectionPool.roomAtOnce, listener.places / 8))
        var oldest: [(since: UInt64, connection: ConnectionSocket)] = []
        for connection in connections.keys.lazy.compactMap({ self.connections[$0] }) {
            guard connection.listener === listener, let since = connection.http.waitsSince,
                !(connection.isReadable && connection.http.readiness.canReceive),
                oldest.count < share || since < oldest[share - 1].since
            else { continue }
            let place = oldest.firstIndex { since < $0.since } ?? oldest.endIndex
            oldest.insert((since, connection), at: place)
            if oldest.count > share { oldest.removeLast() }
        }
        if oldest.isEmpty { nextSearch = context.now + ConnectionPool.searchPause }
        for (_, connection) in oldest {
            perform(connection.http.close(isDropped: true), on: connection)
        }
        return !oldest.isEmpty
    }

    func handle(_ events: PollEvents, of key: ConnectionSocket.Key) {
        guard let connection = connections[key] else { return }
        let isBroken = events.intersects(.broken)
        if isBroken || events.intersects(.readHangup) {
            connection.markReadable()
            perform(connection.http.peerEnded(isBroken: isBroken), on: connection)
        } else if events.intersects(.readable) {
            connection.markReadable()
        }
        if events.intersects(.writable), connection.http.isBlocked { resumeSending(on: connection) }
        advance(connection)
    }

    /// Advances connections that need no event, sends a part of a publication, and meets deadlines.
    func advance() {
        let waiting = ready
        ready.removeAll(keepingCapacity: true)
        for key in waiting {
            guard let connection = connections[key] else { continue }
            connection.unmarkQueued()
            if connection.hasYielded { resumeSending(on: connection) }
            advance(connection)
        }
        continuePublication()
        for slot in deadlines.expired(at: context.now) {
            guard let key = connections.key(inSlot: slot), let connection = connections[key] else {
                continue
            }
            // While the process stood still (SIGSTOP, a frozen machine) its clients went on: what
            // they sent, or took, since then counts first.
            if connection.http.isBlocked { resumeSending(on: connection) }
            if connection.http.readiness.canReceive { connection.markReadable() }
            advance(connection)
            guard connection.isOpen, connection.http.readiness.deadline <= context.now else {
                continue
            }
            perform(connection.http.expire(context), on: connection)
            finish(connection)
        }
    }

    /// Ends streams and idle connections; the others end with their next response.
    func drain() {
        context.beginDraining()
        for connection in connections.keys.compactMap({ connections[$0] }) {
            perform(connection.http.drain(), on: connection)
            guard connection.http.isReading else { continue }
            // A request may have arrived unseen. If not, the connection closes.
            connection.markReadable()
            advance(connection)
        }
    }

    func dropAll() {
        for connection in connections.keys.compactMap({ connections[$0] }) {
            perform(connection.http.close(isDropped: true), on: connection)
        }
    }

    // MARK: The side of responders and hubs

    /// Takes a handler's answer, unless it is late or the second.
    func deliver(
        _ answer: HTTPConnection.Answer, to key: ConnectionSocket.Key, sequence: UInt32
    ) {
        guard let connection = connections[key] else { return answer.abandon() }
        // Written later: never from inside the work for another connection.
        if connection.http.offer(answer, sequence: sequence), handling != key {
            queue(connection)
        }
    }

    /// A response in chunks has bytes to send: they are sent in the connection's turn.
    func sendChunks(of key: ConnectionSocket.Key, sequence: UInt32) {
        guard let connection = connections[key], connection.http.isChunked(sequence) else { return }
        queue(connection)
    }

    /// Queues bytes for subscribers of a hub: each gets whole publications in order, or is dropped.
    func publish(_ bytes: [UInt8], to receivers: [ConnectionSocket.Key]) {
        for start in stride(from: 0, to: receivers.count, by: ConnectionPool.receiversPerPart) {
            let part = receivers[start...].prefix(ConnectionPool.receiversPerPart)
            publications.append((bytes, Array(part)))
        }
        while publications.count > ConnectionPool.waitingParts { continuePublication() }
    }

    private func continuePublication() {
        guard let (bytes, receivers) = publications.popFirst() else { return }
        for key in receivers {
            guard let connection = connections[key], connection.http.isStreaming else { continue }
            report(connection.send(bytes), of: connection)
        }
    }

    // MARK: Connections

    private func queue(_ connection: ConnectionSocket) {
        if connection.markQueued() { ready.append(connection.key) }
    }

    /// Does what can be done for a connection now: a late answer, waiting requests, or one read.
    private func advance(_ connection: ConnectionSocket) {
        let canRead = connection.isReadable && connection.http.readiness.canReceive
        perform(canRead ? read(connection) : connection.http.advance(context), on: connection)
        finish(connection)
    }

    private func read(_ connection: ConnectionSocket) -> HTTPConnection.Action {
        switch connection.receive(into: &input) {
        case .wouldBlock: return .none
        case .failed: return connection.http.close()
        case .count(0): return connection.http.receiveEnd(context)
        case .count(let count):
            let action = connection.http.receive(input.span.extracting(0..<count), context)
            input.wipe(0..<count)
            return action
        }
    }

    /// Carries out an action and those that follow from it.
    private func perform(_ first: HTTPConnection.Action, on connection: ConnectionSocket) {
        var action = first
        var handled = 0
        while true {
            switch action {
            case .none:
                return
            case .identify(let address):
                identify(connection, as: address)
            case .screen(let head):
                screen(head, on: connection)
            case .handle(let request, let sequence):
                handle(request, sequence, on: connection)
                handled += 1
                // The rest of a long pipeline waits until others had their turn.
                if handled == limits.pipelinedRequests { return }
                if context.isOutputLarge { flush(connection) }
            case .subscribe(let hub, let head, let first):
                subscribe(connection, to: hub, head: head, first: first)
            case .sendFile(let body):
                report(connection.send(context.output, body), of: connection)
            case .endSending:
                connection.endSending()
            case .close(let isDropped, let hub):
                if isDropped { counters.dropped.add() }
                return remove(connection, from: hub)
            }
            action = connection.http.advance(context)
        }
    }

    /// Sends the output, sets the deadline, and queues the connection when more can be done.
    private func finish(_ connection: ConnectionSocket) {
        flush(connection)
        guard connection.isOpen else { return }
        let readiness = connection.http.readiness
        deadlines.set(connection.key.slot, to: readiness.deadline)
        let canRead = connection.isReadable && readiness.canReceive
        if canRead || readiness.canAdvance || connection.hasYielded { queue(connection) }
    }

    private func flush(_ connection: ConnectionSocket) {
        guard connection.isOpen else { return }
        report(connection.send(context.output), of: connection)
    }

    private func resumeSending(on connection: ConnectionSocket) {
        report(connection.resumeSending(), of: connection)
    }

    private func report(_ result: ConnectionSocket.WriteResult, of connection: ConnectionSocket) {
        context.clearOutput()
        let action =
            switch result {
            case .written:
                connection.http.written(hasUnread: connection.isReadable, context)
            case .blocked(let count): connection.http.blocked(after: count, context)
            case .failed: connection.http.close()
            }
        perform(action, on: connection)
    }

    private func handle(
        _ request: Request, _ sequence: UInt32, on connection: ConnectionSocket
    ) {
        guard let reactor else { return }
        counters.requests.add()
        let responder = Responder(
            reactor: reactor, connection: connection.key, sequence: sequence,
            source: connection.source)
        handling = connection.key
        connection.listener.configuration.handler(request, responder)
        handling = nil
    }

    private func screen(_ head: Request, on connection: ConnectionSocket) {
        let listener = connection.listener
        switch listener.configuration.largeBodies?.screen(head) {
        case .rejected(let response):
            perform(connection.http.reject(with: response, context), on: connection)
        case .admitted(let held):
            if let permit = listener.acquirePermit(holding: held) {
                connection.http.admitBody(permit)
            } else {
                reject(connection, .overloaded)
            }
        case nil:
            preconditionFailure("a body is large only where the configuration says so")
        }
    }

    private func reject(_ connection: ConnectionSocket, _ error: RequestError) {
        perform(connection.http.reject(error, context), on: connection)
    }

    /// Hashes the address prefix and counts the connection against the prefix's cap.
    private func identify(_ connection: ConnectionSocket, as address: PeerAddress) {
        guard let source = hasher.hash(of: address, now: context.now) else { return }
        connection.identify(as: source)
        sources.add(source)
        if sources[source] > limits.connectionsPerSource { reject(connection, .overloaded) }
    }

    private func remove(_ connection: ConnectionSocket, from hub: StreamHub?) {
        let (key, source) = (connection.key, connection.source)
        if let hub {
            hub.assumeIsolated { $0.remove(key, source: source) }
        }
        context.clearOutput()
        connection.close()
        if let source {
            sources.remove(source)
            hasher.release(source, now: context.now)
        }
        deadlines.clear(key.slot)
        connections.remove(key)
        connection.listener.closed()
        counters.open.add(-1)
    }

    private func subscribe(
        _ connection: ConnectionSocket, to hub: StreamHub, head: Response, first: [UInt8]
    ) {
        guard let reactor else { return }
        let (key, source, limits) = (connection.key, connection.source, limits)
        let isAdmitted = hub.assumeIsolated {
            $0.admit(key, source: source, by: reactor, limits: limits)
        }
        guard isAdmitted else { return reject(connection, .overloaded) }
        connection.http.subscribed(to: hub, head: head, first: first, context)
    }
}
