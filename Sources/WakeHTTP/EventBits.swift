import CLinux

/// What epoll reports, as the number it reports it in.
enum EventBits {
    static let readable = UInt32(linux_in.rawValue)
    static let writable = UInt32(linux_out.rawValue)
    static let error = UInt32(linux_error.rawValue)
    static let hangup = UInt32(linux_hangup.rawValue)
    static let readHangup = UInt32(linux_read_hangup.rawValue)
    static let edge = UInt32(linux_edge.rawValue)
}
