/// What happens when nothing happens.
extension Reactor {
    private static let second: UInt64 = 1_000_000_000

    /// Sets the connection's deadline, unless it already runs for the same thing.
    func time(_ connection: Connection, _ timing: Connection.Timing) {
        guard connection.timing != timing else { return }
        connection.timing = timing
        start(timing, of: connection)
    }

    private func start(_ timing: Connection.Timing, of connection: Connection) {
        let slot = TimerSlot.first + connection.id.slot
        let seconds: Int
        switch timing {
        case .none: return deadlines.clear(slot)
        case .idle: seconds = limits.idleSeconds
        case .head: seconds = limits.headSeconds
        case .body: seconds = bodySeconds(of: connection)
        case .answer: seconds = limits.answerSeconds
        case .pause: seconds = limits.pauseSeconds
        case .write: seconds = limits.writeSeconds
        case .linger: seconds = limits.lingerSeconds
        case .stream: return deadlines.set(slot, to: now + keepAlivePause())
        }
        if timing == .write { connection.writtenInSpan = 0 }
        deadlines.set(slot, to: now + UInt64(seconds) * Reactor.second)
    }

    /// Not all streams at once, and none at a rhythm an observer could follow.
    private func keepAlivePause() -> UInt64 {
        let longest = UInt64(limits.streamKeepAliveSeconds) * Reactor.second
        let jitter = UInt64(limits.streamKeepAliveJitterSeconds) * Reactor.second
        return longest - min(longest, random() % (jitter + 1))
    }

    func expire() {
        for slot in deadlines.expired(at: now) {
            switch slot {
            case TimerSlot.drain: endDraining()
            case TimerSlot.resume: resumeAccepting()
            default:
                if let connection = connections.connection(inSlot: slot - TimerSlot.first) {
                    expire(connection)
                }
            }
        }
    }

    private func expire(_ connection: Connection) {
        switch connection.timing {
        case .none: break
        case .idle, .linger: close(connection)
        case .head, .body: giveUp(on: connection, .timeout)  // RFC 9110 §15.5.9
        case .answer: giveUp(on: connection, .answerOverdue)
        case .pause: drop(connection)
        case .write:
            guard connection.writtenInSpan >= limits.writeFloorBytes else {
                return drop(connection)
            }
            start(.write, of: connection)
        case .stream:
            guard case .streaming(let hub) = connection.phase else { return }
            if push(hub.keepAlive, to: connection) { start(.stream, of: connection) }
        }
    }

    private func giveUp(on connection: Connection, _ refusal: Refusal) {
        // A front that never said whom it speaks for expects no HTTP either.
        if case .proxy = connection.phase { return close(connection) }
        connection.answer.take()?.lose()
        refuse(connection, refusal)
        flush(connection)
    }
}
