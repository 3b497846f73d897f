/// The error codes of RFC 9113 §7 that we tell apart.
enum ErrorCode {
    static let none: UInt32 = 0x0
    static let protocolError: UInt32 = 0x1
    static let internalError: UInt32 = 0x2
    static let flowControl: UInt32 = 0x3
    static let frameSize: UInt32 = 0x6
    static let refusedStream: UInt32 = 0x7
    static let cancel: UInt32 = 0x8
    static let compression: UInt32 = 0x9
    static let enhanceYourCalm: UInt32 = 0xb
}
