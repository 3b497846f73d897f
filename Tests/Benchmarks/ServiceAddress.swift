private import Glibc

/// Where a service listens: a Unix socket or a loopback port.
enum ServiceAddress {
    case unix(String)
    case loopback(port: UInt16)

    /// - Returns: a connected, non-blocking socket; nil when nobody listens.
    func connect() -> Int32? {
        let descriptor = open()
        guard descriptor >= 0 else { return nil }
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
        var noDelay: Int32 = 1
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, 4)
        return descriptor
    }

    private func open() -> Int32 {
        switch self {
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { buffer in
                for (index, byte) in path.utf8.prefix(buffer.count - 1).enumerated() {
                    unsafe buffer[index] = byte
                }
            }
            return connect(AF_UNIX, address)
        case .loopback(let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return connect(AF_INET, address)
        }
    }

    private func connect<Address>(_ family: Int32, _ address: Address) -> Int32 {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return -1 }
        let result = unsafe withUnsafeBytes(of: address) { bytes in
            guard let start = bytes.baseAddress else { return Int32(-1) }
            return unsafe Glibc.connect(
                descriptor, start.assumingMemoryBound(to: sockaddr.self),
                socklen_t(bytes.count))
        }
        guard result == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }
}
