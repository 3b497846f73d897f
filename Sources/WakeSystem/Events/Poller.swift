package import CLinux
private import Glibc

/// An epoll instance and an eventfd that interrupts its wait (epoll(7), eventfd(2)). One thread
/// waits; every thread may call the rest.
package final class Poller: Sendable {
    /// The token of the eventfd: no descriptor that callers add may have it.
    package static let wakeToken = UInt64.max

    private let epoll: Descriptor
    private let eventfd: Descriptor

    package init() throws(SystemError) {
        let epoll = Descriptor(owning: try SystemError.check(linux_epoll_create()))
        let eventfd = Descriptor(owning: try SystemError.check(linux_eventfd_create()))
        // Edge-triggered: every signal is an edge, so the counter need never be read.
        let result = linux_epoll_add(
            epoll.number, eventfd.number, PollEvents.readable.union(.edge).rawValue,
            Poller.wakeToken)
        _ = try SystemError.check(result)
        self.epoll = epoll
        self.eventfd = eventfd
    }

    /// Ends the current or the next wait; from any thread.
    package func wake() { linux_eventfd_signal(eventfd.number) }

    /// - Returns: false when the kernel is out of memory or watches.
    package func add(_ descriptor: Int32, _ events: PollEvents, token: UInt64) -> Bool {
        linux_epoll_add(epoll.number, descriptor, events.rawValue, token) == 0
    }

    /// A descriptor that is not there is no error.
    package func remove(_ descriptor: Int32) { _ = linux_epoll_remove(epoll.number, descriptor) }

    /// Waits until an event or `wake`; writes the events to the front of `events`.
    /// - Parameter milliseconds: the longest wait; -1 has no end. Returns the number of events.
    package func wait(into events: inout [linux_event], milliseconds: Int32) -> Int {
        let count = unsafe events.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let base = buffer.baseAddress else { return 0 }
            return unsafe linux_epoll_wait(epoll.number, base, Int32(buffer.count), milliseconds)
        }
        // Only a closed or foreign descriptor fails here (epoll_wait(2)).
        precondition(count >= 0, "epoll_wait failed")
        return Int(count)
    }
}

/// The event bits of epoll_ctl(2).
package struct PollEvents: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }
    /// Whether any bit of `other` is set, without the type metadata look-ups of the set algebra.
    package func intersects(_ other: PollEvents) -> Bool { rawValue & other.rawValue != 0 }

    package static let readable = PollEvents(rawValue: linux_in.rawValue)
    package static let writable = PollEvents(rawValue: linux_out.rawValue)
    package static let readHangup = PollEvents(rawValue: linux_read_hangup.rawValue)
    /// The connection is gone in both directions.
    package static let broken = PollEvents(rawValue: linux_error.rawValue | linux_hangup.rawValue)
    /// Each change is reported once (edge-triggered).
    package static let edge = PollEvents(rawValue: linux_edge.rawValue)
    /// Every change of readable, writable and closed, once.
    package static let edges: PollEvents = [.readable, .writable, .readHangup, .edge]
}

/// A file descriptor with one owner: closed when the owner goes.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    package init(owning number: Int32) {
        precondition(number >= 0, "a descriptor is never negative")
        self.number = number
    }

    deinit { close(number) }
}
