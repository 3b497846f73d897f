private import Glibc

/// The service manager, when one started us (sd_notify(3)). Says nothing when none did.
package enum Supervisor {
    /// Tells it that the program does its work now.
    package static func notifyReady() {
        notify("READY=1")
    }

    /// Tells it that the program has begun to end.
    package static func notifyStopping() {
        notify("STOPPING=1")
    }

    /// Tells it that the program does what it should; see `watchdog`.
    package static func notifyAlive() {
        notify("WATCHDOG=1")
    }

    /// One line that people read. Whoever may ask the manager sees it.
    package static func notify(status: String) {
        precondition(!status.contains("\n"), "a line break begins another assignment")
        notify("STATUS=\(status)")
    }

    /// How often `notifyAlive` is due: half of the time after which the manager starts the program
    /// anew (sd_watchdog_enabled(3)). nil when it does not watch this process.
    package static var watchdog: Duration? {
        watchdog(
            time: value("WATCHDOG_USEC"), process: value("WATCHDOG_PID"), here: "\(getpid())")
    }

    static func watchdog(time: String?, process: String?, here: String) -> Duration? {
        guard let time, let microseconds = Int64(time), microseconds > 1 else { return nil }
        guard process == nil || process == here else { return nil }
        return .microseconds(microseconds / 2)
    }

    /// What the manager says to this program alone: its children must not answer for it.
    package static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    private static func value(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    private static func notify(_ state: String) {
        guard let name = value("NOTIFY_SOCKET") else { return }
        var path = Array(name.utf8)
        // A leading @ stands for the abstract namespace, whose names begin with a zero byte.
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { buffer in
            guard path.count < buffer.count else { return false }
            unsafe buffer.copyBytes(from: path)
            return true
        }
        guard fits else { return }
        // Not for a child that is started at this moment.
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let size = MemoryLayout<sa_family_t>.size + path.count
        let bytes = Array(state.utf8)
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = unsafe bytes.withUnsafeBytes { buffer in
                    unsafe sendto(
                        descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL),
                        address, socklen_t(size))
                }
            }
        }
    }
}
