import CLinux
private import Glibc

/// epoll, and the eventfd that interrupts it from other threads.
final class EnginePoller: Sendable {
    static let wakeToken = UInt64.max

    private let epoll: Int32
    private let eventfd: Int32

    init() throws(PushEngineError) {
        epoll = linux_epoll_create()
        guard epoll >= 0 else { throw .system(-epoll) }
        eventfd = linux_eventfd_create()
        guard eventfd >= 0 else {
            _ = close(epoll)
            throw .system(-eventfd)
        }
        // Every signal is an edge, so the counter need never be read.
        _ = linux_epoll_add(epoll, eventfd, linux_in.rawValue | linux_edge.rawValue, Self.wakeToken)
    }

    deinit {
        _ = close(eventfd)
        _ = close(epoll)
    }

    func wake() { linux_eventfd_signal(eventfd) }

    /// Every change of readable and writable, once.
    func watch(_ descriptor: Int32, token: UInt64) -> Bool {
        let bits =
            linux_in.rawValue | linux_out.rawValue | linux_read_hangup.rawValue
            | linux_edge.rawValue
        return linux_epoll_add(epoll, descriptor, bits, token) == 0
    }

    /// Tokens of descriptors that changed within `milliseconds`.
    func wait(into events: inout [linux_event], milliseconds: Int32) -> Int {
        let count = unsafe events.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let base = buffer.baseAddress else { return 0 }
            return unsafe linux_epoll_wait(epoll, base, Int32(buffer.count), milliseconds)
        }
        precondition(count >= 0, "epoll_wait failed")
        return Int(count)
    }
}
