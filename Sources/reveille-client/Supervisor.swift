import Glibc

/// Tells systemd how the program is (sd_notify(3)); nothing without NOTIFY_SOCKET.
enum Supervisor {
    static func notify(_ state: StaticString) {
        guard let path = Environment.value("NOTIFY_SOCKET") else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        // unix(7): a name in the abstract namespace begins with a zero byte, written "@".
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = unsafe sendto(
                    descriptor, state.utf8Start, state.utf8CodeUnitCount,
                    Int32(MSG_NOSIGNAL),
                    address, length)
            }
        }
    }
}
