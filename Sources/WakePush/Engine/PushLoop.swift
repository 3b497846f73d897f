import CLinux

/// The engine's thread: one poll loop over all lines. Never a closure or a task per push.
final class PushLoop {
    private let configuration: EngineConfiguration
    private let context: TLSContext?
    let mailbox: EngineMailbox
    private let deliver: @Sendable (PushOutcomes) -> Void

    private var shape: RequestShape
    private var queue = PushQueue()
    private var lines: [Line]
    private var outcomes = PushOutcomes()
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var isClosing = false
    /// Connections opened so far.
    private var opened: UInt32 = 0
    private var nextTick: UInt64 = 0
    /// Since when outcomes have been held back.
    private var heldSince: UInt64?
    /// Since when pushes have waited without any connection; nil while there is one.
    private var waitsSince: UInt64?

    init(
        _ configuration: EngineConfiguration, context: TLSContext?, mailbox: EngineMailbox,
        deliver: @escaping @Sendable (PushOutcomes) -> Void
    ) {
        self.configuration = configuration
        self.context = context
        self.mailbox = mailbox
        self.deliver = deliver
        shape = configuration.shape
        lines = (0..<configuration.connections).map { index in
            Line(
                index: index,
                backoff: Backoff(
                    base: configuration.reconnectMilliseconds,
                    longest: configuration.longestReconnectMilliseconds))
        }
    }

    func run() {
        var events = [linux_event](repeating: linux_event(), count: 256)
        var timeout: Int32 = -1
        while !isClosing {
            let count = mailbox.poller.wait(into: &events, milliseconds: timeout)
            let now = configuration.clock.milliseconds()
            for event in events[..<count] where event.token < UInt64(lines.count) {
                lines[Int(event.token)].note(event.bits)
            }
            for command in mailbox.take() { obey(command, now) }
            for line in lines { turn(line, now) }
            if now >= nextTick { tick(now) }
            if heldSince == nil, !outcomes.isEmpty { heldSince = now }
            var rest = rest()
            if rest.handsOver(outcomes.results.count, now: now) {
                handOver()
                rest.heldSince = nil
            }
            timeout = rest.timeout(now: now, tick: nextTick)
        }
        end()
    }

    private func rest() -> LoopRest {
        var rest = LoopRest(isQueued: queue.count > 0, heldSince: heldSince)
        for line in lines {
            if line.isRunnable(queue) { rest.isRunnable = true }
            if line.awaits { rest.awaits = true }
            if rest.isQueued, let attempt = line.nextAttempt {
                rest.nextAttempt = min(rest.nextAttempt ?? attempt, attempt)
            }
        }
        return rest
    }

    private func obey(_ command: EngineCommand, _ now: UInt64) {
        switch command {
        case .batch(let batch): queue.append(batch)
        case .authorization(let value):
            shape.authorization = value
            for line in lines { line.connection?.setAuthorization(value) }
        case .resolved(let index, let result): connect(lines[index], result, now)
        case .close: isClosing = true
        }
    }

    // MARK: One line

    private func turn(_ line: Line, _ now: UInt64) {
        switch line.stage {
        case .idle:
            guard queue.count > 0, now >= line.backoff.nextAttempt(chance: line.chance) else {
                return
            }
            begin(line, now)
        case .resolving: return
        case .connecting(let stream, let since): open(line, stream, since, now)
        case .open: break
        }
        guard line.isOpen else { return }
        line.read(into: &buffer, now: now)
        line.write(from: &queue, now: now)
        if let end = line.connection?.end { lose(line, end, now) }
        line.connection?.takeOutcomes(into: &outcomes)
    }

    private func begin(_ line: Line, _ now: UInt64) {
        line.backoff.attempted(now: now)
        line.chance = configuration.clock.chance()
        line.stage = .resolving
        let (host, port) = (configuration.host, configuration.port)
        let (mailbox, index) = (mailbox, line.index)
        // getaddrinfo(3) blocks, and other lines must not wait for it.
        do {
            try EngineThread.start {
                _ = mailbox.post(
                    .resolved(line: index, SocketAddress.resolve(host, port: port)))
            }
        } catch {
            line.stage = .idle
            failed(line, nil)
        }
    }

    private func connect(
        _ line: Line, _ result: Result<[SocketAddress], PushFailure>, _ now: UInt64
    ) {
        line.stage = .idle
        switch result {
        case .failure(let failure): failed(line, failure == .unknownHost ? failure : nil)
        case .success(let addresses):
            // Lines spread over the addresses of a service, and a failed one moves on.
            let address = addresses[(line.index + line.backoff.failures) % addresses.count]
            let stream: (any ByteStream)? =
                if let context {
                    TLSStream(to: address, host: configuration.host, context: context)
                } else {
                    PlainStream(to: address)
                }
            guard let stream, mailbox.poller.watch(stream.descriptor, token: UInt64(line.index))
            else { return failed(line, nil) }
            line.stage = .connecting(stream, since: now)
        }
    }

    private func open(_ line: Line, _ stream: any ByteStream, _ since: UInt64, _ now: UInt64) {
        guard now - min(now, since) < configuration.connectMilliseconds else {
            line.drop()
            return failed(line, nil)
        }
        // Before the first event, a connecting socket looks like one without an error.
        guard line.mayWrite else { return }
        switch stream.open() {
        case .waits: line.mayWrite = false
        case .failed(let failure):
            line.drop()
            failed(line, failure)
        case .open:
            line.stage = .open(stream)
            line.mayRead = true
            opened += 1
            line.connection = PushConnection(
                shape, limits: configuration.limits, serial: opened,
                wallSeconds: configuration.clock.wallSeconds(), now: now)
            waitsSince = nil
        }
    }

    /// A connection has ended; its outcomes are complete.
    private func lose(_ line: Line, _ end: ConnectionEnd, _ now: UInt64) {
        line.write(from: &queue, now: now)
        takeLastOutcomes(line)
        if line.connection?.isProven == true, end != .stalled {
            line.backoff.succeeded()
        } else {
            line.backoff.failed()
        }
        line.drop()
    }

    private func takeLastOutcomes(_ line: Line) {
        guard let serial = line.connection?.serial else { return }
        line.connection?.takeOutcomes(into: &outcomes)
        outcomes.ended.append(serial)
    }

    /// No connection came about.
    /// - Parameter failure: what another attempt would not mend.
    private func failed(_ line: Line, _ failure: PushFailure?) {
        line.backoff.failed()
        guard let failure, !lines.contains(where: \.isOpen) else { return }
        // What has worked in this round is set up well: only the certificate is not waited for.
        if case .certificate = failure {} else if opened > 0 { return }
        queue.fail(failure, into: &outcomes)
    }

    // MARK: Time, and the end

    private func tick(_ now: UInt64) {
        nextTick = now + 500
        for line in lines where line.isOpen {
            line.connection?.tick(now: now)
            line.write(from: &queue, now: now)
            if let end = line.connection?.end { lose(line, end, now) }
            line.connection?.takeOutcomes(into: &outcomes)
        }
        guard queue.count > 0, !lines.contains(where: \.isOpen) else {
            waitsSince = nil
            return
        }
        let since = waitsSince ?? now
        waitsSince = since
        guard now - since >= configuration.patienceMilliseconds else { return }
        queue.fail(.unreachable, into: &outcomes)
        waitsSince = nil
    }

    private func handOver() {
        guard !outcomes.isEmpty else { return }
        heldSince = nil
        var all = PushOutcomes()
        swap(&all, &outcomes)
        outcomes.results.reserveCapacity(all.results.count)
        mailbox.settled(all.results.count)
        deliver(all)
    }

    private func end() {
        let now = configuration.clock.milliseconds()
        for line in lines {
            line.connection?.finish()
            line.connection?.end(.finished)
            line.write(from: &queue, now: now)
            takeLastOutcomes(line)
            line.drop()
        }
        queue.fail(.closed, into: &outcomes)
        handOver()
    }
}
