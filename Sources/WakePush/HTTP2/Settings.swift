/// Bounds of one connection.
package struct ConnectionLimits: Sendable {
    /// Open streams at most.
    package var streams = 1000
    /// Milliseconds until a push without an answer is given up while its connection lives: real
    /// services answer single requests after half a minute.
    package var answerMilliseconds: UInt64 = 45_000
    /// Milliseconds after which an answer whose body does not end is taken as it is.
    package var bodyMilliseconds: UInt64 = 10_000
    /// Milliseconds until a connection is given up on which nothing comes, not even an answer to
    /// PING.
    package var silenceMilliseconds: UInt64 = 10_000
    /// Milliseconds until a connection is given up that gives no room for pushes that wait.
    package var noRoomMilliseconds: UInt64 = 20_000

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
    /// Pushes a connection has sent before its planned end may be followed at once by another.
    static let usefulPushes = 64
    /// Streams without an answer in a row that end a connection which has accepted nothing.
    static let unansweredStreams = 2
    /// Streams whose body waits for a window.
    static let blockedStreams = 64
}

/// The peer's SETTINGS (RFC 9113 §6.5.2), at first the protocol's initial values.
struct PeerSettings: Sendable, Equatable {
    enum ID {
        static let tableSize: UInt16 = 0x1
        static let enablePush: UInt16 = 0x2
        static let concurrentStreams: UInt16 = 0x3
        static let initialWindow: UInt16 = 0x4
        static let frameSize: UInt16 = 0x5
    }

    private(set) var tableSize = 4096
    private(set) var concurrentStreams = Int.max
    private(set) var initialWindow = 65_535
    private(set) var frameSize = 16_384

    /// Applies one entry; returns the connection error that its value is, or nil.
    mutating func apply(id: UInt16, value: UInt32) -> UInt32? {
        switch id {
        case ID.tableSize: tableSize = Int(value)
        case ID.enablePush where value > 1: return ErrorCode.protocolError
        case ID.concurrentStreams: concurrentStreams = Int(value)
        case ID.initialWindow:
            guard value <= 0x7fff_ffff else { return ErrorCode.flowControl }
            initialWindow = Int(value)
        case ID.frameSize:
            guard value >= 16_384, value <= 0xff_ffff else { return ErrorCode.protocolError }
            frameSize = Int(value)
        default: break
        }
        return nil
    }
}

/// The reason why a connection takes no more pushes and can be dropped.
package enum ConnectionEnd: Equatable, Sendable {
    /// The peer sent GOAWAY with this code, and its last answers have come.
    case goAway(UInt32)
    /// The peer broke the protocol; the code was sent to it.
    case violation(UInt32)
    /// Silent for too long; no stream id left; the transport ended; we ended it.
    case stalled, exhausted, lost, cancelled
}
