import CLinux
import Glibc

/// epoll and the eventfd that interrupts it.
struct Poller: ~Copyable, Sendable {
    /// The token of the eventfd: no connection and no listener has it.
    static let wakeToken = UInt64.max
    /// Events taken in one wait.
    static let batch = 256

    private let epoll: Descriptor
    private let eventfd: Descriptor

    init() throws(HTTPServerError) {
        let epoll = Descriptor(owning: try Poller.checked(linux_epoll_create()))
        let eventfd = Descriptor(owning: try Poller.checked(linux_eventfd_create()))
        // Edge-triggered: every signal is an edge, so the counter need never be read.
        _ = try Poller.checked(
            linux_epoll_add(
                epoll.number, eventfd.number, EventBits.readable | EventBits.edge,
                Poller.wakeToken))
        self.epoll = epoll
        self.eventfd = eventfd
    }

    private static func checked(_ result: Int32) throws(HTTPServerError) -> Int32 {
        guard result >= 0 else { throw .noEventLoop(errno: -result) }
        return result
    }

    /// Ends the current or the next wait; from any thread.
    func wake() { linux_eventfd_signal(eventfd.number) }

    /// Reports readable, writable and closed, each once per change. False when the kernel is out of
    /// memory or watches.
    func watchEdges(of descriptor: Int32, token: UInt64) -> Bool {
        let bits =
            EventBits.readable | EventBits.writable | EventBits.readHangup | EventBits.edge
        return linux_epoll_add(epoll.number, descriptor, bits, token) == 0
    }

    /// Reports readable for as long as it is.
    func watchReadable(of descriptor: Int32, token: UInt64) -> Bool {
        linux_epoll_add(epoll.number, descriptor, EventBits.readable, token) == 0
    }

    func forget(_ descriptor: Int32) {
        _ = linux_epoll_remove(epoll.number, descriptor)
    }

    /// Waits for at most `milliseconds` (-1: for ever) and fills the front of `events`, which holds
    /// `batch`.
    func wait(into events: inout [linux_event], milliseconds: Int32) -> Int {
        let count = unsafe events.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let base = buffer.baseAddress else { return 0 }
            return unsafe linux_epoll_wait(
                epoll.number, base, Int32(buffer.count), milliseconds)
        }
        // Only a closed or foreign descriptor fails here (epoll_wait(2)).
        precondition(count >= 0, "epoll_wait failed")
        return Int(count)
    }
}
