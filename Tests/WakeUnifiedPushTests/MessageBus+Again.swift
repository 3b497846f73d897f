import TestSupport

extension MessageBus {
    /// Starts another daemon in the place of one that was killed.
    func again() throws -> RunningProgram {
        try RunningProgram(
            path: "/usr/bin/dbus-daemon",
            [
                "--config-file=\(directory.path)/bus.conf", "--nofork", "--nopidfile",
                "--print-address",
            ])
    }

    /// Where the bus looks for programs to start.
    var services: String { directory.path + "/services" }
}
