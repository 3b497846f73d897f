/// The way out: nobody new, everybody's answer, then the end.
extension Reactor {
    func beginDraining() {
        // Whoever the kernel has already let in may have sent a request: answer it rather than
        // reset it.
        for index in listeners.indices {
            var rounds = 0
            while rounds < 64, accept(from: index) { rounds += 1 }
        }
        state = .draining
        // Closing also takes it out of epoll. What still waits is reset, and tries elsewhere.
        for listener in listeners { listener.close() }
        deadlines.set(TimerSlot.drain, to: now + UInt64(limits.drainSeconds) * 1_000_000_000)
        for connection in connections.all {
            switch connection.phase {
            case .streaming:
                close(connection)
            case .proxy, .reading:
                // One last look: a request may have arrived unseen. If not, settling closes it.
                connection.isReadable = true
                if !connection.isQueued { drive(connection) }
            case .answering, .piecewise, .ending, .lingering, .closed:
                break
            }
        }
    }

    /// Time is up.
    func endDraining() {
        for connection in connections.all { drop(connection) }
    }
}
