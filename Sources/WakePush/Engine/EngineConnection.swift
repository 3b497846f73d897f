import WakeSystem

/// One of the engine's connections over time: connecting, open, lost, connecting again. For the
/// engine's thread only.
final class EngineConnection {
    private enum Stage {
        case idle
        case resolving
        case connecting(any ByteStream, since: UInt64)
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
    private var connection: PushConnection?
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

    /// A lost connection counts as one failure, so that it is not made again at once.
    private static func backoff(_ configuration: EngineConfiguration) -> Backoff {
        Backoff(
            base: .milliseconds(configuration.reconnectMilliseconds),
            ceiling: .milliseconds(configuration.longestReconnectMilliseconds),
            jitter: .stretch, failures: 1)
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

    func connect(
        _ resolved: Result<[SocketAddress], PushFailure>, _ context: TLSContext?,
        _ poller: Poller, now: UInt64
    ) -> Progress {
        switch resolved {
        case .failure(let failure): return fail(failure == .unknownHost ? failure : nil)
        case .success(let addresses):
            // Spreads connections over the addresses; a failed one tries the next.
            let address = addresses[(index + backoff.failures - 1) % addresses.count]
            let stream: (any ByteStream)? =
                if let context {
                    TLSStream(to: address, host: configuration.host, context: context)
                } else {
                    PlainStream(to: address)
                }
            guard let stream, poller.add(stream.descriptor, .edges, token: UInt64(index)) else {
                return fail(nil)
            }
            stage = .connecting(stream, since: now)
            return .pending
        }
    }

    /// Continues an attempt. Once open, the connection has the number `serial`.
    func open(_ template: RequestTemplate, serial: UInt32, now: UInt64) -> Progress {
        guard case .connecting(let stream, let since) = stage else { return .pending }
        guard now - min(now, since) < configuration.connectMilliseconds else { return fail(nil) }
        // Before its first event a connecting socket shows no error.
        guard mayWrite else { return .pending }
        switch stream.open() {
        case .waits:
            mayWrite = false
            return .pending
        case .failed(let failure): return fail(failure)
        case .open:
            stage = .open(stream)
            mayRead = true
            connection = PushConnection(
                template, limits: configuration.limits, serial: serial,
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
    func record(_ events: PollEvents) {
        // A handshake may wait for either, and both meet failures.
        let isAny = !isOpen || events.intersects(.broken)
        if isAny || events.intersects(.readable) || events.intersects(.readHangup) {
            mayRead = true
        }
        if isAny || events.intersects(.writable) { mayWrite = true }
    }

    func setAuthorization(_ value: [UInt8]) { connection?.setAuthorization(value) }

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

    func tick(now: UInt64) { connection?.tick(now: now) }

    func cancel() { connection?.cancel() }

    /// Hands over the outcomes so far, and at the end of the connection its serial number.
    func takeOutcomes(into outcomes: inout PushOutcomes, _ queue: inout PushQueue, now: UInt64) {
        // Its last frames leave first, such as GOAWAY; it accepts no more pushes.
        if connection?.end != nil { write(from: &queue, now: now) }
        connection?.takeOutcomes(into: &outcomes)
        guard let connection, let end = connection.end else { return }
        outcomes.ended.append(connection.serial)
        if connection.isProven, end != .stalled {
            backoff = Self.backoff(configuration)
        } else {
            _ = backoff.fail(random: 0)
        }
        close()
    }

    private func close() {
        switch stage {
        case .connecting(let stream, _), .open(let stream): stream.close()
        case .idle, .resolving: break
        }
        connection?.wipe()
        connection = nil
        stage = .idle
        mayRead = false
        mayWrite = false
    }

    // MARK: For the poll timeout

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
