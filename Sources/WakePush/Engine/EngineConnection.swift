import WakeSystem

/// One of the engine's connections over time: connecting, open, lost, connecting again. For the
/// engine's thread only.
final class EngineConnection {
    private enum Stage {
        case idle
        case resolving
        case connecting
        case open(any ByteStream)
    }

    enum Progress {
        case pending
        case opened
        /// nil: another attempt may succeed.
        case failed(PushFailure?)
    }

    let index: Int
    private let configuration: EngineConfiguration
    private var stage = Stage.idle
    /// Set while the stage is `connecting`.
    private var race: AddressRace?
    /// Set while the stage is `open`.
    private var connection: PushConnection?
    /// When its last connection ended, and the reason if the peer gave one.
    private(set) var lastEnd: (at: UInt64, goAway: GoAwayReason?)?
    private var backoff: Backoff
    private var attempted: UInt64?
    /// The jitter of the next attempt, drawn once.
    private var random = 0.0
    /// Reading and writing have not blocked since the last event.
    private var mayRead = false
    private var mayWrite = false

    init(index: Int, _ configuration: EngineConfiguration) {
        self.index = index
        self.configuration = configuration
        backoff = Self.backoff(configuration)
    }

    /// - Parameter failures: 1 even for a connection that has worked: it is not made again at once.
    private static func backoff(
        _ configuration: EngineConfiguration, failures: Int = 1
    ) -> Backoff {
        Backoff(
            base: .milliseconds(configuration.reconnectMilliseconds),
            ceiling: .milliseconds(configuration.longestReconnectMilliseconds),
            jitter: .stretch, failures: failures)
    }

    // MARK: Connecting

    var isOpen: Bool {
        if case .open = stage { return true }
        return false
    }

    /// The time of the next attempt; nil unless the connection is idle.
    var nextAttempt: UInt64? {
        guard case .idle = stage else { return nil }
        guard let attempted else { return 0 }
        return attempted + UInt64(backoff.wait(random: random) / .milliseconds(1))
    }

    /// Begins an attempt; its addresses are to be resolved.
    func attempt(now: UInt64) {
        attempted = now
        random = configuration.time.random()
        stage = .resolving
    }

    /// Begins to connect to the resolved addresses.
    func connect(
        _ resolved: Result<[SocketAddress], PushFailure>, now: UInt64
    ) -> Progress {
        switch resolved {
        case .failure(let failure): return fail(failure == .unknownHost ? failure : nil)
        case .success(let addresses):
            // Connections spread over the addresses of a service, and a failed one moves on.
            let first = (index + backoff.failures) % addresses.count
            race = AddressRace(
                Array(addresses[first...] + addresses[..<first]), now: now,
                deadline: now + configuration.connectMilliseconds)
            stage = .connecting
            return .pending
        }
    }

    private func connect(
        to address: SocketAddress, number: Int, _ context: TLSContext?, _ poller: Poller
    ) -> (any ByteStream)? {
        let stream: (any ByteStream)? =
            if let context {
                TLSStream(to: address, host: configuration.host, context: context)
            } else {
                PlainStream(to: address)
            }
        guard let stream else { return nil }
        let token = UInt64(number) << 32 | UInt64(index)
        if poller.add(stream.descriptor, .edges, token: token) { return stream }
        stream.close()
        return nil
    }

    /// Goes on with a connection that is being made.
    /// - Parameter template: what is sent once it is open.
    func open(
        _ template: RequestTemplate, _ context: TLSContext?, _ poller: Poller, now: UInt64
    ) -> Progress {
        let progress = race?.advance(now: now) { address, number in
            connect(to: address, number: number, context, poller)
        }
        switch progress {
        case nil, .pending: return .pending
        case .lost(let failure): return fail(failure)
        case .won(let stream):
            race = nil
            stage = .open(stream)
            mayRead = true
            mayWrite = true
            connection = PushConnection(
                template, limits: configuration.limits,
                wallSeconds: configuration.time.wallSeconds(), now: now)
            return .opened
        }
    }

    func fail(_ failure: PushFailure?) -> Progress {
        close()
        _ = backoff.fail(random: 0)
        return .failed(failure)
    }

    // MARK: While open

    /// Records an event. An edge is reported once, with all bits that hold then (epoll(7)).
    /// - Parameter number: of the attempt to connect that the socket belongs to.
    func record(_ events: PollEvents, number: Int) {
        race?.record(number)
        // Failures are met by reading and by writing.
        let isAny = events.intersects(.broken)
        if isAny || events.intersects(.readable) || events.intersects(.readHangup) {
            mayRead = true
        }
        if isAny || events.intersects(.writable) { mayWrite = true }
    }

    func update(_ template: RequestTemplate) { connection?.update(template) }

    /// Reads what has come, up to 8 buffers for the sake of other connections.
    func read(into buffer: inout [UInt8], now: UInt64) {
        guard case .open(let stream) = stage else { return }
        for _ in 0..<8 where mayRead {
            switch stream.read(into: &buffer) {
            case .moved(let count): connection?.receive(buffer, count: count, now: now)
            case .waits: mayRead = false
            case .ended:
                mayRead = false
                connection?.transportEnded()
            }
        }
    }

    /// Fills up to 64 KiB with pushes, sends them, and again.
    func write(from queue: inout PushQueue, now: UInt64) {
        guard case .open(let stream) = stage else { return }
        connection?.advance(to: now)
        for _ in 0..<8 where mayWrite {
            connection?.fill(from: &queue)
            switch connection?.flush(to: stream) ?? stream.flush() {
            case .moved: break
            case .waits: mayWrite = false
            case .ended:
                mayWrite = false
                connection?.transportEnded()
            case nil: return
            }
        }
    }

    /// Ends streams, or the connection, that have waited too long.
    /// - Parameter isQueued: pushes wait.
    func tick(now: UInt64, isQueued: Bool) { connection?.tick(now: now, isQueued: isQueued) }

    func cancel() { connection?.cancel() }

    /// Hands over the outcomes so far; an ended connection may be made again.
    func takeOutcomes(into outcomes: inout PushOutcomes, _ queue: inout PushQueue, now: UInt64) {
        // Its last frames leave first, such as GOAWAY; it accepts no more pushes.
        if connection?.end != nil { write(from: &queue, now: now) }
        connection?.takeOutcomes(into: &outcomes)
        guard let connection, let end = connection.end else { return }
        lastEnd = (now, connection.goAway)
        if connection.hasServed, case .goAway(ErrorCode.none) = end {
            // RFC 9113 §6.8: the peer ends it as planned, and expects another.
            backoff = Self.backoff(configuration, failures: 0)
        } else if connection.isProven, end != .stalled {
            backoff = Self.backoff(configuration)
        } else {
            _ = backoff.fail(random: 0)
        }
        close()
    }

    private func close() {
        switch stage {
        case .open(let stream): stream.close()
        case .connecting, .idle, .resolving: break
        }
        race?.close()
        race = nil
        connection?.wipe()
        connection = nil
        stage = .idle
        mayRead = false
        mayWrite = false
    }

    var inFlight: Int { connection?.inFlight ?? 0 }

    /// The peer takes no more pushes, and still answers earlier ones.
    var isDraining: Bool { connection?.isDraining == true }

    // MARK: For the poll timeout

    /// When the next address is tried while others are being connected to.
    var nextAddress: UInt64? { race?.nextStart }

    /// Something is due from the far end, and its absence must be noticed.
    var awaitsPeer: Bool {
        switch stage {
        case .idle, .resolving: false
        case .connecting: true
        case .open: connection?.awaitsPeer == true
        }
    }

    /// True when more can be done before the next event. `isQueued`: pushes wait.
    func isRunnable(isQueued: Bool) -> Bool {
        guard isOpen else { return false }
        if mayRead { return true }
        guard mayWrite, let connection else { return false }
        return connection.outputCount > 0 || isQueued && connection.room > 0
    }
}

extension PushConnection {
    private static let writeBytes = 65_536

    fileprivate mutating func fill(from queue: inout PushQueue) {
        // Room shrinks with each push, and faster when a window is used up.
        while queue.count > 0, outputCount < Self.writeBytes, room > 0 { queue.push(to: &self) }
    }

    /// - Returns: nil when there is nothing to send.
    fileprivate mutating func flush(to stream: any ByteStream) -> StreamTransfer? {
        guard outputCount > 0 else { return nil }
        let (bytes, offset) = outputBytes
        let transfer = stream.write(bytes, from: offset)
        if case .moved(let count) = transfer { didSend(count) }
        return transfer
    }
}
