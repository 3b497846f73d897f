/// From bytes to requests.
extension Reactor {
    /// Thrown away at most while the far end reads a refusal.
    private static let discardBytes = 1 << 20

    /// What epoll said about a connection.
    func take(_ bits: UInt32, for connection: Connection) {
        let isBroken = bits & (EventBits.hangup | EventBits.error) != 0
        if isBroken || bits & EventBits.readHangup != 0 { connection.peerEnded = true }
        if connection.peerEnded || bits & EventBits.readable != 0 { connection.isReadable = true }
        switch connection.phase {
        case .streaming:
            // Subscribers have nothing more to say; one that ends its side has left.
            if connection.peerEnded { close(connection) }
        case .lingering:
            discard(connection)
        case .closed:
            break
        case .piecewise where connection.peerEnded:
            // RFC 9112 §9.6 lets a client end its side and go on reading, but one that waits for
            // more pieces cannot be told from one that has left.
            close(connection)
        default:
            if connection.isBlocked {
                if isBroken { return close(connection) }
                if bits & EventBits.writable != 0 { resumeWriting(connection) }
            }
            drive(connection)
        }
    }

    /// Does what can be done for a connection now: a late answer, waiting requests, one read.
    func drive(_ connection: Connection) {
        switch connection.phase {
        case .lingering: return discard(connection)
        case .answering:
            if let answer = connection.answer, !connection.isInHandler {
                connection.answer = nil
                write(answer, to: connection)
            }
        case .piecewise(let answer): sendPieces(of: answer, on: connection)
        default: break
        }
        if connection.yielded { resumeWriting(connection) }
        if connection.isReading, !connection.isBlocked {
            if connection.hasUnparsed {
                parsePending(of: connection)
            } else if connection.isReadable {
                read(connection)
            }
        }
        flush(connection)
        settle(connection)
    }

    /// Sets the deadline the connection's state asks for, and comes back when it has more to do.
    func settle(_ connection: Connection) {
        switch connection.phase {
        case .closed, .streaming, .lingering, .ending: return
        case .answering:
            if !connection.isBlocked { time(connection, .answer) }
            return
        case .piecewise:
            if !connection.isBlocked { time(connection, .pause) }
            return
        case .proxy, .reading: break
        }
        guard !connection.isBlocked else { return }
        if connection.hasUnparsed || connection.isReadable { queue(connection) }
        if connection.pending.isEmpty {
            // RFC 9112 §9.5: an idle connection is closed without a word.
            if state == .draining, !connection.isReadable { return close(connection) }
            time(connection, .idle)
        } else if connection.parser.stage == .body {
            time(connection, .body)
        } else {
            time(connection, .head)
        }
    }

    private func read(_ connection: Connection) {
        let outcome = Socket.receive(from: connection.descriptor.number, into: &input)
        guard case .count(let count) = outcome, count > 0 else {
            switch outcome {
            case .wouldBlock: connection.isReadable = false
            case .count: finish(connection)
            case .failed: close(connection)
            }
            return
        }
        // epoll(7): a short read has emptied the socket; only an end of file may be left, and that
        // was announced.
        connection.isReadable = count == input.count || connection.peerEnded
        guard connection.pending.isEmpty else {
            appendWiping(input.span.extracting(0..<count), to: &connection.pending)
            wipe(&input, 0..<count)
            return parsePending(of: connection)
        }
        // Whole requests are parsed where they were read.
        let bytes = input
        input = []
        let consumed = parse(bytes.span.extracting(0..<count), for: connection)
        if consumed < count, connection.isOpenForRequests {
            keep(bytes.span.extracting(consumed..<count), for: connection)
        }
        input = consume bytes
        wipe(&input, 0..<count)
    }

    /// The far end has said all it will. An unfinished request is nobody's loss but its sender's;
    /// the answer to a finished one is still awaited: RFC 9112 §9.6 lets either side end its half
    /// first.
    private func finish(_ connection: Connection) {
        guard !output.isEmpty else { return close(connection) }
        wipe(&connection.pending)
        connection.pending = []
        connection.phase = .ending
    }

    private func parsePending(of connection: Connection) {
        var bytes = connection.pending
        connection.pending = []
        let consumed = parse(bytes.span, for: connection)
        if consumed < bytes.count, connection.isOpenForRequests {
            if consumed == 0 {
                connection.pending = bytes
                return
            }
            keep(bytes.span.extracting(consumed..<bytes.count), for: connection)
        }
        wipe(&bytes)
    }

    /// Takes as many requests as `bytes` hold and the connection may have handled; returns the
    /// bytes used.
    private func parse(_ bytes: Span<UInt8>, for connection: Connection) -> Int {
        var start = 0
        var handled = 0
        connection.hasUnparsed = false
        while start < bytes.count, connection.isReading, !connection.isBlocked {
            guard handled < limits.pipelinedRequests else { break }
            let rest = bytes.extracting(start..<bytes.count)
            if case .proxy = connection.phase {
                guard let consumed = parseProxyHeader(rest, for: connection) else { return start }
                start += consumed
                continue
            }
            let step = connection.parser.advance(over: rest)
            guard admitsBody(of: connection, rest) else { return bytes.count }
            switch step {
            case .needMore:
                invite(connection, received: rest.count)
                return start
            case .invalid(let refusal):
                refuse(connection, refusal)
                return bytes.count
            case .complete(let consumed):
                let request = Request(
                    bytes: Array(copying: rest.extracting(0..<consumed)),
                    head: connection.parser.head, place: connection.place.take())
                start += consumed
                handled += 1
                connection.parser = RequestParser(limits: connection.parser.limits)
                connection.lingers = start < bytes.count
                handle(request, on: connection)
            }
        }
        connection.hasUnparsed = start < bytes.count && connection.isOpenForRequests
        return start
    }

    /// The number of bytes of a complete header; nil when more must come or the connection is
    /// closed.
    private func parseProxyHeader(_ bytes: Span<UInt8>, for connection: Connection) -> Int? {
        switch ProxyHeader.parse(bytes) {
        case .needMore: return nil
        case .invalid:
            // §2 of the specification: a receiver configured for the header must not go without it.
            // What this is instead nobody knows, so there is no answer either.
            counters.refusedByClientError.increment()
            close(connection)
            return nil
        case .complete(let header, let consumed):
            connection.phase = .reading
            connection.timing = .none
            identify(connection, as: header.source)
            return consumed
        }
    }

    /// RFC 9110 §10.1.1: a client that waits for 100 is told to go on, unless it has begun to send
    /// already.
    private func invite(_ connection: Connection, received: Int) {
        let head = connection.parser.head
        guard connection.parser.stage == .body, head.expectsContinue, !connection.sentContinue,
            received == head.body.lowerBound
        else { return }
        connection.sentContinue = true
        output.append(text: "HTTP/1.1 100 Continue\r\n\r\n")
    }

    /// Reads on so that the far end can finish sending and read our last answer (RFC 9112 §9.6).
    func discard(_ connection: Connection) {
        guard connection.isReadable else { return }
        switch Socket.receive(from: connection.descriptor.number, into: &input) {
        case .wouldBlock:
            connection.isReadable = false
        case .count(let count) where count > 0:
            wipe(&input, 0..<count)
            connection.discarded += count
            connection.isReadable = count == input.count || connection.peerEnded
            if connection.discarded > Reactor.discardBytes { return close(connection) }
            if connection.isReadable { queue(connection) }
        default:
            close(connection)
        }
    }
}
