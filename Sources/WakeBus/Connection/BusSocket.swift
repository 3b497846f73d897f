import CLinux
private import Glibc

/// The connected socket, owned by the connection's thread.
struct BusSocket: ~Copyable {
    enum Transfer {
        case moved(Int)
        case waits
        case ended
    }

    private let descriptor: Int32

    /// Blocks for at most `milliseconds`.
    init(_ address: BusAddress, milliseconds: UInt32) throws(BusError) {
        let name = address.socketName
        let result = unsafe linux_connect_unix(name, name.count, milliseconds)
        guard result >= 0 else { throw .unreachable(-result) }
        descriptor = result
    }

    deinit { _ = close(descriptor) }

    /// recv(2) without room for ancillary data: the kernel closes descriptors that somebody sends.
    func receive(into bytes: inout [UInt8]) -> Transfer {
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe linux_receive(descriptor, buffer.baseAddress, buffer.count)
        }
        if result == 0 { return .ended }
        return Self.transfer(result)
    }

    func send(_ bytes: [UInt8], from offset: Int) -> Transfer {
        let result = unsafe bytes.withUnsafeBytes { buffer in
            let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[offset...])
            return unsafe linux_send(descriptor, rest.baseAddress, rest.count, false)
        }
        return Self.transfer(result)
    }

    private static func transfer(_ result: Int) -> Transfer {
        if result >= 0 { return .moved(result) }
        return Int32(-result) == EAGAIN ? .waits : .ended
    }

    /// Until the socket has something to read (or room to write), the bell rings, or the time is
    /// over.
    ///
    /// - Parameter milliseconds: nil waits for ever.
    func wait(_ bell: BusBell, writable: Bool, milliseconds: UInt64?) {
        let events = Int16(POLLIN) | (writable ? Int16(POLLOUT) : 0)
        var watched = [
            pollfd(fd: descriptor, events: events, revents: 0),
            pollfd(fd: bell.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        let limit = milliseconds.map { Int32(clamping: $0) } ?? -1
        // A wait that a signal ends is one that ends early: the loop looks and waits again.
        _ = unsafe poll(&watched, 2, limit)
        if watched[1].revents != 0 { bell.clear() }
    }
}

/// Interrupts the thread's wait.
final class BusBell: Sendable {
    fileprivate let descriptor: Int32

    init() throws(BusError) {
        descriptor = linux_eventfd_create()
        guard descriptor >= 0 else { throw .system(-descriptor) }
    }

    deinit { _ = close(descriptor) }

    func ring() { linux_eventfd_signal(descriptor) }

    fileprivate func clear() {
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, 8)
    }
}
