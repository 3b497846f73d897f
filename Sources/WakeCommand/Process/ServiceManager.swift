private import CLinux
private import Dispatch
private import Glibc

/// Notifications to the service manager (sd_notify(3)); without one they do nothing.
package enum ServiceManager {
    /// The program has started.
    package static func notifyReady() { notify("READY=1") }

    /// The program is stopping.
    package static func notifyStopping() { notify("STOPPING=1") }

    /// The program works; see `watchdog`.
    package static func notifyAlive() { notify("WATCHDOG=1") }

    /// One line for people, visible to everyone who may query the manager.
    package static func notify(status: String) {
        precondition(!status.contains("\n"), "a line break begins another assignment")
        notify("STATUS=\(status)")
    }

    /// The interval of `notifyAlive`: half of the time after which the manager restarts the program
    /// (sd_watchdog_enabled(3)). nil when it does not watch this process.
    package static var watchdog: Duration? {
        watchdog(time: value("WATCHDOG_USEC"), process: value("WATCHDOG_PID"), here: "\(getpid())")
    }

    static func watchdog(time: String?, process: String?, here: String) -> Duration? {
        guard let time, let microseconds = Int64(time), microseconds > 1 else { return nil }
        guard process == nil || process == here else { return nil }
        return .microseconds(microseconds / 2)
    }

    /// Variables for this program alone: child processes must not inherit them.
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

/// SIGTERM, SIGINT and SIGHUP as cancellation of the main task.
package enum TerminationSignal {
    /// Runs `body` in a task that the first of them cancels; returns when it has ended.
    /// Call once. A second signal does nothing: ending takes a bounded time already.
    package static func cancels(_ body: @escaping @Sendable () async -> Void) async {
        let result = linux_catch_termination()
        precondition(result == 0, "no descriptor for signals")
        let task = Task { await body() }
        // A thread of its own: Dispatch's signal sources miss signals that a parent left blocked.
        DispatchQueue(label: "termination").async {
            linux_wait_for_termination()
            task.cancel()
        }
        await task.value
    }
}
