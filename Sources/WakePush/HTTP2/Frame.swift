/// One frame as read from the wire (RFC 9113 §6). Ranges are positions in the bytes it was read
/// from, without padding and priority fields.
package enum Frame: Equatable, Sendable {
    /// `flow` is what counts against both windows: the payload with its padding.
    case data(stream: UInt32, body: Range<Int>, flow: Int, ends: Bool)
    case headers(stream: UInt32, fragment: Range<Int>, isWhole: Bool, ends: Bool)
    case priority(stream: UInt32)
    case reset(stream: UInt32, code: UInt32)
    /// Whole entries of 6 bytes.
    case settings(Range<Int>)
    case settingsAcknowledged
    case pushPromise(stream: UInt32)
    case ping(UInt64)
    case pingAcknowledged(UInt64)
    case goAway(lastStream: UInt32, code: UInt32)
    /// `increment` 0 is an error of the stream or the connection (§6.9).
    case windowUpdate(stream: UInt32, increment: UInt32)
    case continuation(stream: UInt32, fragment: Range<Int>, isWhole: Bool)
    /// Of a kind we do not know: to be ignored (§4.1).
    case unknown
}

/// Why bytes are no frame that we may receive.
package enum FrameError: Error, Equatable, Sendable {
    /// Longer than we allow, or not of the length its kind demands.
    case badLength
    /// On stream 0 or not on stream 0, against its kind.
    case badStream
    /// More padding than payload.
    case badPadding
}

/// What the reader found.
package enum FrameRead: Equatable, Sendable {
    case complete(Frame, end: Int)
    case needMore
    case invalid(FrameError)
}

/// Kinds and flags on the wire.
enum FrameKind {
    static let data: UInt8 = 0x0
    static let headers: UInt8 = 0x1
    static let priority: UInt8 = 0x2
    static let reset: UInt8 = 0x3
    static let settings: UInt8 = 0x4
    static let pushPromise: UInt8 = 0x5
    static let ping: UInt8 = 0x6
    static let goAway: UInt8 = 0x7
    static let windowUpdate: UInt8 = 0x8
    static let continuation: UInt8 = 0x9
}

enum FrameFlag {
    static let acknowledged: UInt8 = 0x1
    static let endStream: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    static let padded: UInt8 = 0x8
    static let priority: UInt8 = 0x20
}
