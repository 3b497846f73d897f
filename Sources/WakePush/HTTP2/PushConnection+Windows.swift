/// SETTINGS and both flow-control windows (RFC 9113 §6.5, §6.9).
extension PushConnection {
    private static let largestWindow = 0x7fff_ffff

    mutating func receiveSettings(_ entries: Span<UInt8>) {
        let before = peer
        for position in stride(from: 0, to: entries.count, by: 6) {
            let id = entries.big16(at: position)
            if let code = peer.apply(id: id, value: entries.big32(at: position + 2)) {
                return violate(code)
            }
            if id == PeerSettings.ID.tableSize { encoder.setTableSize(peer.tableSize) }
        }
        hasSettings = true
        send { FrameWriter.settingsAcknowledgement(into: &$0) }
        // §6.9.2: a changed initial window moves those of open streams, even below 0.
        let change = peer.initialWindow - before.initialWindow
        guard change != 0 else { return }
        for index in blocked.indices {
            blocked[index].window += change
            guard blocked[index].window <= Self.largestWindow else {
                return violate(ErrorCode.flowControl)
            }
        }
        sendBlocked()
    }

    mutating func receiveWindow(_ stream: UInt32, _ increment: Int) {
        if stream == 0 {
            guard increment > 0 else { return violate(ErrorCode.protocolError) }
            sendWindow += increment
            guard sendWindow <= Self.largestWindow else { return violate(ErrorCode.flowControl) }
            return sendBlocked()
        }
        guard stream % 2 == 1, stream < nextStream else {
            return violate(ErrorCode.protocolError)
        }
        // A stream whose request has left needs no window.
        guard let index = blocked.firstIndex(where: { $0.stream == stream }) else { return }
        blocked[index].window += increment
        guard increment > 0, blocked[index].window <= Self.largestWindow else {
            let code = increment > 0 ? ErrorCode.flowControl : ErrorCode.protocolError
            send { FrameWriter.reset(stream: stream, code: code, into: &$0) }
            return giveUp(stream, isSafe: false)
        }
        sendBlocked()
    }

    /// Sends of the waiting bodies what the windows allow.
    mutating func sendBlocked() {
        var isDone = false
        for index in blocked.indices where sendWindow > 0 {
            let waiting = blocked[index]
            let count = min(
                waiting.body.count - waiting.sent, waiting.window, sendWindow, peer.frameSize)
            guard count > 0 else { continue }
            let ends = waiting.sent + count == waiting.body.count
            let part = waiting.body[waiting.sent..<waiting.sent + count]
            send { FrameWriter.data(stream: waiting.stream, body: part, ends: ends, into: &$0) }
            sendWindow -= count
            blocked[index].sent += count
            blocked[index].window -= count
            guard ends else { continue }
            isDone = true
        }
        if isDone { blocked.removeAll { $0.sent == $0.body.count } }
    }
}
