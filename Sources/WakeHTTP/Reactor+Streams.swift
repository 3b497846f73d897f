/// Sending to the subscribers of event streams.
extension Reactor {
    private static let sendsPerTurn = 512
    /// Publications waiting at most; beyond, the oldest is sent to its end first.
    private static let waitingFanOuts = 64

    func fanOut(_ bytes: [UInt8], to receivers: [ConnectionID]) {
        fanOuts.append(FanOut(bytes: bytes, receivers: receivers))
        while fanOuts.count > Reactor.waitingFanOuts { continueFanOut() }
    }

    /// The next part of the oldest publication. One after the other: every subscriber gets them in
    /// order.
    func continueFanOut() {
        guard var current = fanOuts.first else { return }
        let end = min(current.next + Reactor.sendsPerTurn, current.receivers.count)
        for index in current.next..<end {
            guard let connection = connections[current.receivers[index]] else { continue }
            _ = push(current.bytes, to: connection)
        }
        current.next = end
        if end < current.receivers.count {
            fanOuts[0] = current
        } else {
            fanOuts.removeFirst()
        }
    }

    /// Sends all of `bytes` now or drops the subscriber; whether it is still there.
    func push(_ bytes: [UInt8], to connection: Connection) -> Bool {
        guard case .streaming = connection.phase else { return false }
        switch Socket.send(to: connection.descriptor.number, bytes.span) {
        case .count(bytes.count): return true
        case .failed: close(connection)
        case .count, .wouldBlock: drop(connection)
        }
        return false
    }
}
