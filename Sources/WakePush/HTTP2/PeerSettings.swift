/// What the peer told us about itself (RFC 9113 §6.5.2).
struct PeerSettings: Sendable, Equatable {
    enum ID {
        static let tableSize: UInt16 = 0x1
        static let enablePush: UInt16 = 0x2
        static let concurrentStreams: UInt16 = 0x3
        static let initialWindow: UInt16 = 0x4
        static let frameSize: UInt16 = 0x5
    }

    var tableSize = 4096
    /// Unlimited until the peer says otherwise.
    var concurrentStreams = Int.max
    var initialWindow = 65_535
    var frameSize = 16_384

    /// Applies one entry.
    /// - Returns: the connection error that its value is, or nil.
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
