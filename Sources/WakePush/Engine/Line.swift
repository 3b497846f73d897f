import CLinux

/// One of the engine's connections over time: connecting, open, lost, connecting again. Lives on
/// the engine's thread.
final class Line {
    enum Stage {
        /// Not connected; attempted again when there is work and the back-off allows.
        case idle
        case resolving
        case connecting(any ByteStream, since: UInt64)
        case open(any ByteStream)
    }

    let index: Int
    var stage = Stage.idle
    /// There while the stage is `open`.
    var connection: PushConnection?
    var backoff: Backoff
    /// The stretch of the next back-off, drawn once per attempt.
    var chance = 0.0

    /// Since the last event, reading and writing have not been told to wait.
    var mayRead = false
    var mayWrite = false

    init(index: Int, backoff: Backoff) {
        self.index = index
        self.backoff = backoff
    }

    var isOpen: Bool {
        if case .open = stage { return true }
        return false
    }

    /// Something is to come from the far end, and must be missed if it does not.
    var awaits: Bool {
        switch stage {
        case .idle, .resolving: false
        case .connecting: true
        case .open: connection?.awaits == true
        }
    }

    /// When the line may be connected again; nil while that is not the question.
    var nextAttempt: UInt64? {
        if case .idle = stage { return backoff.nextAttempt(chance: chance) }
        return nil
    }

    /// Takes note of an event (epoll(7)). An edge is told once, and with all that holds then.
    func note(_ bits: UInt32) {
        // A handshake may wait for either, whichever way it goes; and failures are met by both.
        let both = linux_error.rawValue | linux_hangup.rawValue
        let isAny = !isOpen || bits & both != 0
        if isAny || bits & (linux_in.rawValue | linux_read_hangup.rawValue) != 0 { mayRead = true }
        if isAny || bits & linux_out.rawValue != 0 { mayWrite = true }
    }

    /// Reads what is there, in moderation: other lines wait too.
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
            switch connection?.flush(to: stream) {
            case .moved: break
            case .waits: mayWrite = false
            case .ended:
                mayWrite = false
                connection?.transportEnded()
            case nil:
                switch stream.flush() {
                case .waits: mayWrite = false
                case .ended:
                    mayWrite = false
                    connection?.transportEnded()
                case .moved, nil: break
                }
                return
            }
        }
    }

    /// More can be done before the next event.
    func isRunnable(_ queue: PushQueue) -> Bool {
        guard isOpen else { return false }
        if mayRead { return true }
        guard mayWrite, let waiting = connection?.outputCount, let room = connection?.room else {
            return false
        }
        return waiting > 0 || queue.count > 0 && room > 0
    }

    /// The end of a connection: its outcomes were taken.
    func drop() {
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
}

extension PushConnection {
    /// What is sent at once, bytes.
    private static let writeBytes = 65_536

    mutating func fill(from queue: inout PushQueue) {
        // Room shrinks with each push, and faster when a window is used up.
        while queue.count > 0, outputCount < Self.writeBytes, room > 0 { queue.push(to: &self) }
    }

    /// - Returns: nil when there is nothing to send.
    mutating func flush(to stream: any ByteStream) -> StreamTransfer? {
        guard outputCount > 0 else { return nil }
        let transfer = stream.write(output, from: sent)
        if case .moved(let count) = transfer { didSend(count) }
        return transfer
    }
}
