/// The flow-control windows towards the peer, and the bodies that wait for them (RFC 9113 §6.9).
struct SendWindow: Sendable {
    private struct BlockedBody: Sendable {
        let stream: UInt32
        let body: [UInt8]
        var sent = 0
        var window: Int
    }

    private static let largest = 0x7fff_ffff

    /// Bytes that may be sent on all streams together.
    private var connection = 65_535
    private var blocked: [BlockedBody] = []

    var hasRoom: Bool { connection > 0 && blocked.count < ConnectionLimits.blockedStreams }
    var hasBlocked: Bool { !blocked.isEmpty }

    func isBlocked(_ stream: UInt32) -> Bool { blocked.contains { $0.stream == stream } }

    /// Uses `count` bytes for a body that is sent at once; false when it may not be.
    mutating func take(_ count: Int, window: Int) -> Bool {
        guard count <= min(connection, window) else { return false }
        connection -= count
        return true
    }

    /// Keeps a body that may not be sent at once.
    mutating func block(_ body: [UInt8], of stream: UInt32, window: Int) {
        blocked.append(BlockedBody(stream: stream, body: body, window: window))
    }

    /// Applies a WINDOW_UPDATE of the connection; returns the connection error that it is, or nil.
    mutating func grow(by increment: Int) -> UInt32? {
        guard increment > 0 else { return ErrorCode.protocolError }
        connection += increment
        return connection <= Self.largest ? nil : ErrorCode.flowControl
    }

    /// Applies a WINDOW_UPDATE of a stream; returns the stream error that it is, or nil.
    mutating func grow(_ stream: UInt32, by increment: Int) -> UInt32? {
        guard let index = blocked.firstIndex(where: { $0.stream == stream }) else { return nil }
        guard increment > 0 else { return ErrorCode.protocolError }
        blocked[index].window += increment
        return blocked[index].window <= Self.largest ? nil : ErrorCode.flowControl
    }

    /// §6.9.2: moves the windows of open streams, even below 0; returns a connection error or nil.
    mutating func changeInitial(by change: Int) -> UInt32? {
        for index in blocked.indices {
            blocked[index].window += change
            guard blocked[index].window <= Self.largest else { return ErrorCode.flowControl }
        }
        return nil
    }

    /// Appends DATA frames of waiting bodies as far as the windows allow.
    mutating func sendBlocked(frameSize: Int, into bytes: inout [UInt8]) {
        var isDone = false
        for index in blocked.indices where connection > 0 {
            let waiting = blocked[index]
            let count = min(
                waiting.body.count - waiting.sent, waiting.window, connection, frameSize)
            guard count > 0 else { continue }
            let end = waiting.sent + count
            FrameWriter.data(
                stream: waiting.stream, body: waiting.body[waiting.sent..<end],
                ends: end == waiting.body.count, into: &bytes)
            connection -= count
            blocked[index].sent = end
            blocked[index].window -= count
            if end == waiting.body.count { isDone = true }
        }
        if isDone { blocked.removeAll { $0.sent == $0.body.count } }
    }

    mutating func drop(_ stream: UInt32) {
        if !blocked.isEmpty { blocked.removeAll { $0.stream == stream } }
    }
}

/// The window for all streams of the peer together (RFC 9113 §6.9). Those of single streams are
/// never refilled: an answer is cut before it fills one.
struct ReceiveWindow: Sendable {
    private var rest = ConnectionLimits.window

    /// The increment to announce, 0 for none; nil when the peer sent more than allowed.
    mutating func receive(_ count: Int) -> UInt32? {
        rest -= count
        guard rest >= 0 else { return nil }
        guard rest <= ConnectionLimits.window / 2 else { return 0 }
        defer { rest = ConnectionLimits.window }
        return UInt32(ConnectionLimits.window - rest)
    }
}
