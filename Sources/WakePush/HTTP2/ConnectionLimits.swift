/// Bounds of one connection.
package struct ConnectionLimits: Sendable {
    /// Streams open at once, whatever more the peer allows.
    package var streams = 1000
    /// Milliseconds until a push without an answer is given up, or a silent connection is.
    package var answerMilliseconds: UInt64 = 10_000

    package init() {}

    /// Bytes of an answer's body that are kept.
    static let bodyBytes = 4096
    /// Bytes of one header block, before decoding.
    static let blockBytes = 65_536
    /// CONTINUATION frames of one header block.
    static let continuations = 64
    /// Our window for all streams together, bytes: refilled at half.
    static let window = 1 << 20
    /// Bytes a peer may make us queue without reading them.
    static let unreadBytes = 1 << 19
    /// Streams whose body waits for a window.
    static let blockedStreams = 64
}

/// Why a connection takes no more pushes and can be dropped.
package enum ConnectionEnd: Equatable, Sendable {
    /// The peer said goodbye with this code, and the streams it still answered are done.
    case goAway(UInt32)
    /// The peer broke the protocol; the code is what we told it.
    case violation(UInt32)
    /// Nothing came for too long.
    case stalled
    /// Every stream id is used.
    case exhausted
    /// The peer closed the transport, or it failed.
    case lost
    /// We were done.
    case finished
}
