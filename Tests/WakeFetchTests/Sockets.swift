import Glibc
import WakeSystem

@testable import WakeFetch

/// The system calls of the test servers. What they open is not inherited by commands, as other
/// tests wait for it to be closed.
enum Sockets {
    /// On any free port if `port` is 0; nil if the address or port cannot be had.
    static func listen(
        on host: IPAddress = loopback, port: UInt16 = 0, backlog: Int32 = 512
    ) -> (socket: Int32, port: UInt16)? {
        let family = host.family == .v4 ? AF_INET : AF_INET6
        let socket = Glibc.socket(
            family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        precondition(socket >= 0)
        var one: Int32 = 1
        unsafe setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, 4)
        let isBound = unsafe withAddress(host, port) { unsafe bind(socket, $0, $1) == 0 }
        guard isBound, Glibc.listen(socket, backlog) == 0, let port = ownPort(socket) else {
            Glibc.close(socket)
            return nil
        }
        return (socket, port)
    }

    static let loopback = IPAddress(.v4, 0x7F00_0001)

    /// A connection that is there or on its way; nil if it is refused at once.
    static func connect(to host: IPAddress, port: UInt16) -> Int32? {
        let family = host.family == .v4 ? AF_INET : AF_INET6
        let kind = Int32(
            SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(family, kind, 0)
        precondition(socket >= 0)
        let status = unsafe withAddress(host, port) { unsafe Glibc.connect(socket, $0, $1) }
        guard status == 0 || errno == EINPROGRESS else {
            Glibc.close(socket)
            return nil
        }
        return socket
    }

    private static func withAddress<Result>(
        _ host: IPAddress, _ port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var storage = sockaddr_storage()
        return unsafe withUnsafeMutableBytes(of: &storage) { bytes in
            let isV4 = host.family == .v4
            let family = sa_family_t(isV4 ? AF_INET : AF_INET6)
            unsafe bytes.storeBytes(of: family, as: sa_family_t.self)
            unsafe bytes.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
            for (index, byte) in host.bytes.enumerated() {
                unsafe bytes[(isV4 ? 4 : 8) + index] = byte
            }
            let length = isV4 ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
            let generic = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            guard let generic = unsafe generic else { preconditionFailure() }
            return unsafe body(generic, socklen_t(length))
        }
    }

    private static func ownPort(_ socket: Int32) -> UInt16? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &address) { pointer in
            let status = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(socket, $0, &length)
            }
            // The port of both families is at the same place.
            let port = unsafe UnsafeRawPointer(pointer).load(fromByteOffset: 2, as: UInt16.self)
            return status == 0 ? UInt16(bigEndian: port) : nil
        }
    }

    /// The port at the other end; nil unless it is a connected IPv4 socket.
    static func peerPort(_ socket: Int32) -> UInt16? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe getpeername(socket, generic, &length)
            }
        }
        guard status == 0, address.sin_family == AF_INET else { return nil }
        return UInt16(bigEndian: address.sin_port)
    }

    static func accept(_ listener: Int32) -> Int32? {
        let socket = Glibc.accept(listener, nil, nil)
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        return socket >= 0 ? socket : nil
    }

    static func receive(_ socket: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe recv(socket, $0.baseAddress, $0.count, 0)
        }
        return count >= 0 ? Array(bytes[..<count]) : nil
    }

    static func send(_ socket: Int32, _ bytes: [UInt8]) -> Bool {
        var start = 0
        while start < bytes.count {
            let count = send(socket, bytes[start...], flags: 0)
            guard count > 0 else { return false }
            start += count
        }
        return true
    }

    /// Sends the bytes over and over until the socket has taken none for 200 ms.
    static func sendUntilFull(_ socket: Int32, _ bytes: [UInt8]) -> Int {
        var total = 0
        while true {
            let count = send(socket, bytes[...], flags: Int32(MSG_DONTWAIT))
            if count > 0 {
                total += count
            } else if errno != EAGAIN || !isReady(socket, POLLOUT, within: 200) {
                return total
            }
        }
    }

    private static func send(_ socket: Int32, _ bytes: ArraySlice<UInt8>, flags: Int32) -> Int {
        unsafe bytes.withUnsafeBytes {
            unsafe Glibc.send(
                socket, $0.baseAddress, $0.count, flags | Int32(MSG_NOSIGNAL))
        }
    }

    /// The most bytes that the kernel keeps at one end of a connection (tcp(7)).
    static func largestBuffer(_ name: String) -> Int {
        guard let file = unsafe fopen("/proc/sys/net/ipv4/\(name)", "r") else { return 64 << 20 }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        _ = unsafe fgets(&line, 128, file)
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
        return text.split { $0.isWhitespace }.last.flatMap { Int($0) } ?? 64 << 20
    }

    static func isReadable(_ socket: Int32, within milliseconds: Int32) -> Bool {
        isReady(socket, POLLIN, within: milliseconds)
    }

    private static func isReady(
        _ socket: Int32, _ events: Int32, within milliseconds: Int32
    ) -> Bool {
        var entry = pollfd(fd: socket, events: Int16(events), revents: 0)
        return unsafe poll(&entry, 1, milliseconds) > 0
    }

    /// Waits until a connection that `connect` began is there.
    static func waitUntilConnected(_ socket: Int32) -> Bool { isReady(socket, POLLOUT, within: -1) }

    static func resetOnClose(_ socket: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(
            socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    }

    static func shutDown(_ socket: Int32) {
        Glibc.shutdown(socket, Int32(SHUT_RDWR))
    }

    static func close(_ socket: Int32) {
        Glibc.close(socket)
    }
}
