/// From answers to bytes on the wire, as fast as the far end takes them.
extension Reactor {
    /// File bytes sent to one connection before others get their turn.
    private static let fileBytesPerTurn: Int64 = 1 << 20

    /// Sends what is in `output`; what does not fit waits in the connection.
    func flush(_ connection: Connection) {
        if !output.isEmpty {
            if connection.unsent.isEmpty {
                let outcome = Socket.send(
                    to: connection.descriptor.number, output.span, more: connection.file != nil)
                switch outcome {
                case .count(let count):
                    connection.writtenInSpan += count
                    if count < output.count {
                        connection.unsent.append(span: output.span.extracting(count..<output.count))
                    }
                case .wouldBlock: connection.unsent.append(span: output.span)
                case .failed: return close(connection)
                }
            } else {
                appendWiping(output.span, to: &connection.unsent)
            }
            clearOutput()
        }
        finishWriting(connection)
    }

    func clearOutput() {
        guard !output.isEmpty else { return }
        // Answers may hold what a request asked for: they are wiped like requests.
        wipe(&output)
        if output.capacity > Reactor.outputCapacity * 2 {
            output = []
            output.reserveCapacity(Reactor.outputCapacity)
        } else {
            output.removeAll(keepingCapacity: true)
        }
    }

    /// The socket takes bytes again.
    func resumeWriting(_ connection: Connection) {
        connection.yielded = false
        if !connection.unsent.isEmpty {
            let rest = connection.unsentStart..<connection.unsent.count
            let outcome = Socket.send(
                to: connection.descriptor.number, connection.unsent.span.extracting(rest),
                more: connection.file != nil)
            switch outcome {
            case .count(let count):
                connection.writtenInSpan += count
                connection.unsentStart += count
                guard count == rest.count else { return }
                wipe(&connection.unsent)
                connection.unsent = []
                connection.unsentStart = 0
            case .wouldBlock: return
            case .failed: return close(connection)
            }
        }
        finishWriting(connection)
    }

    /// Goes on with a file body, then to whatever comes after the answer.
    private func finishWriting(_ connection: Connection) {
        if case .closed = connection.phase { return }
        if connection.unsent.isEmpty, connection.file != nil { sendFile(connection) }
        if case .closed = connection.phase { return }
        if connection.isBlocked {
            if case .streaming = connection.phase { return drop(connection) }
            return time(connection, .write)
        }
        connection.writtenInSpan = 0
        if connection.timing == .write { connection.timing = .none }
        if case .ending = connection.phase { end(connection) }
    }

    private func sendFile(_ connection: Connection) {
        guard var sending = connection.file else { return }
        var budget = Reactor.fileBytesPerTurn
        while sending.remaining > 0, budget > 0 {
            let outcome = Socket.sendFile(
                to: connection.descriptor.number, sending.file, offset: sending.offset,
                count: Int(min(sending.remaining, budget)))
            switch outcome {
            case .count(let count) where count > 0:
                connection.writtenInSpan += count
                sending.offset += Int64(count)
                sending.remaining -= Int64(count)
                budget -= Int64(count)
            case .wouldBlock:
                connection.file = sending
                return
            default:
                // The file is shorter than promised, or the far end is gone: the length cannot be
                // kept.
                return close(connection)
            }
        }
        connection.file = sending.remaining > 0 ? sending : nil
        if connection.file != nil {
            // Still writable, so epoll will not say so.
            connection.yielded = true
            queue(connection)
        }
    }

    /// After the last answer: closed, or first given time to be read.
    private func end(_ connection: Connection) {
        guard connection.lingers || !connection.pending.isEmpty else { return close(connection) }
        // RFC 9112 §9.6: closing with unread bytes makes the kernel send a reset, which can destroy
        // the answer before it is read. So only our side ends, and the rest is read and thrown
        // away.
        Socket.endSending(to: connection.descriptor.number)
        connection.phase = .lingering
        wipe(&connection.pending)
        connection.pending = []
        time(connection, .linger)
        connection.isReadable = true
        queue(connection)
    }

    /// Ends a connection whose far end does not keep up.
    func drop(_ connection: Connection) {
        counters.dropped.increment()
        close(connection)
    }
}
