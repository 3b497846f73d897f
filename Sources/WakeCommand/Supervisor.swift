private import Glibc

/// The service manager, when one started us (sd_notify(3)).
package enum Supervisor {
    /// Tells it that the program does its work now.
    package static func notifyReady() {
        notify("READY=1")
    }

    private static func notify(_ state: String) {
        guard let name = unsafe getenv("NOTIFY_SOCKET") else { return }
        var path = unsafe Array(String(cString: name).utf8)
        // A leading @ stands for the abstract namespace, whose names begin with a zero byte.
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { buffer in
            guard path.count < buffer.count else { return false }
            unsafe buffer.copyBytes(from: path)
            return true
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        guard fits, descriptor >= 0 else { return }
        defer { close(descriptor) }
        let size = MemoryLayout<sa_family_t>.size + path.count
        let bytes = Array(state.utf8)
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = unsafe bytes.withUnsafeBytes { buffer in
                    unsafe sendto(
                        descriptor, buffer.baseAddress, buffer.count, 0, address, socklen_t(size))
                }
            }
        }
    }
}
