import Glibc

/// A blocking socket to a server on this machine that sends and reads exactly the bytes a test
/// says. Every wait ends after two minutes with an error: only what hangs takes that long.
package final class LoopbackClient {
    package enum Failure: Error, Equatable {
        case cannotConnect(errno: Int32)
        case timedOut
        /// The far end reset the connection.
        case reset
        case notHTTP
    }

    package let descriptor: Int32
    /// Programs that are started meanwhile do not inherit it: else it would stay open when closed.
    private static let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    private var unread: [UInt8] = []

    /// Connects to 127.0.0.1, or to ::1. A small receive buffer (bytes) makes a reader that is soon
    /// slow.
    package init(port: UInt16, version6: Bool = false, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(version6 ? AF_INET6 : AF_INET, Self.kind, 0)
        setLimits(receiveBuffer: receiveBuffer)
        let result: Int32
        if version6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            result = connectSocket(descriptor, &address)
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            result = connectSocket(descriptor, &address)
        }
        guard result == 0 else { throw Failure.cannotConnect(errno: errno) }
    }

    /// Whether this machine has ::1.
    package static let hasVersion6: Bool = {
        let descriptor = socket(AF_INET6, kind, 0)
        defer { close(descriptor) }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, size) == 0
            }
        }
    }()

    /// Connects to a Unix socket.
    package init(path: String) throws {
        descriptor = socket(AF_UNIX, Self.kind, 0)
        setLimits(receiveBuffer: nil)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: path.utf8)
        }
        guard connectSocket(descriptor, &address) == 0 else {
            throw Failure.cannotConnect(errno: errno)
        }
    }

    /// The near end of a connection that a server of a test accepted; owns the descriptor.
    init(accepted descriptor: Int32) {
        self.descriptor = descriptor
        setLimits(receiveBuffer: nil)
    }

    deinit { close(descriptor) }

    private func setLimits(receiveBuffer: Int32?) {
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        if var bytes = receiveBuffer {
            unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    /// Sends all of `text`.
    package func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Sends all of `bytes`.
    package func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // signal(7): with a time limit these calls are not restarted.
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure() }
            rest = rest.dropFirst(count)
        }
    }

    /// Waits until the far end's kernel has everything that was sent. Not for an end that does not
    /// read: its kernel takes only so much.
    package func delivered() async throws {
        var left: Int32 = 1
        while true {
            // tcp(7): SIOCOUTQ, the bytes that are not acknowledged.
            guard unsafe ioctl(descriptor, UInt(TIOCOUTQ), &left) == 0 else { throw failure() }
            if left == 0 { return }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Ends this side; the far end can still send.
    package func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes `close` reset the connection instead of ending it.
    package func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Whatever arrives next; empty at the end of the stream.
    package func receive(atMost limit: Int = 65_536) throws -> [UInt8] {
        if !unread.isEmpty {
            defer { unread = [] }
            return unread
        }
        return try receiveMore(limit)
    }

    private func receiveMore(_ limit: Int = 65_536) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        var count: Int
        repeat {
            count = unsafe buffer.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
            }
        } while count < 0 && errno == EINTR
        guard count >= 0 else { throw failure() }
        return Array(buffer.prefix(count))
    }

    /// Everything until the far end closes.
    package func receiveAll() throws -> [UInt8] {
        var all = unread
        unread = []
        while true {
            let more = try receiveMore()
            if more.isEmpty { return all }
            all += more
        }
    }

    /// Exactly `count` bytes.
    package func receive(exactly count: Int) throws -> [UInt8] {
        while unread.count < count {
            let more = try receiveMore()
            guard !more.isEmpty else { throw Failure.reset }
            unread += more
        }
        defer { unread.removeFirst(count) }
        return Array(unread.prefix(count))
    }

    /// Everything up to and including `mark`.
    package func receive(through mark: String) throws -> String {
        let bytes = Array(mark.utf8)
        while true {
            if let end = unread.end(of: bytes) {
                defer { unread.removeFirst(end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            let more = try receiveMore()
            guard !more.isEmpty else { throw Failure.reset }
            unread += more
        }
    }

    /// One response by its Content-Length; without one, to the end of the stream unless its status
    /// has no content.
    package func receiveResponse(toHead: Bool = false) throws -> WireResponse {
        let head = try receive(through: "\r\n\r\n")
        guard var response = WireResponse(head: head) else { throw Failure.notHTTP }
        if toHead || response.status < 200 || [204, 304].contains(response.status) {
            return response
        }
        if let length = response["Content-Length"].flatMap({ Int($0) }) {
            response.body = try receive(exactly: length)
        } else {
            response.body = try receiveAll()
        }
        return response
    }

    /// Whether the far end has closed in an orderly way and nothing is left to read.
    package func isAtEnd() throws -> Bool { try unread.isEmpty && receiveMore().isEmpty }

    private func failure() -> Failure {
        switch errno {
        case EAGAIN: .timedOut
        default: .reset
        }
    }
}

/// `connect` for any kind of address.
private func connectSocket<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
    let size = socklen_t(MemoryLayout<Address>.size)
    return unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            unsafe connect(descriptor, $0, size)
        }
    }
}
