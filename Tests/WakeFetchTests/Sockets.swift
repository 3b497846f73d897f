import Glibc

/// The system calls of the test servers.
enum Sockets {
    static func listen() -> (socket: Int32, port: UInt16) {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        precondition(socket >= 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe precondition(bind(socket, generic, length) == 0)
                precondition(Glibc.listen(socket, 512) == 0)
                unsafe precondition(getsockname(socket, generic, &length) == 0)
            }
        }
        return (socket, UInt16(bigEndian: address.sin_port))
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

    static func isReadable(_ socket: Int32, within milliseconds: Int32) -> Bool {
        isReady(socket, POLLIN, within: milliseconds)
    }

    private static func isReady(
        _ socket: Int32, _ events: Int32, within milliseconds: Int32
    ) -> Bool {
        var entry = pollfd(fd: socket, events: Int16(events), revents: 0)
        return unsafe poll(&entry, 1, milliseconds) > 0
    }

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
