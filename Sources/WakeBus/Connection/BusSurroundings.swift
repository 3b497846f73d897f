private import Glibc

/// What a connection needs to know of the process it is in.
package struct BusSurroundings: Sendable {
    /// `DBUS_SESSION_BUS_ADDRESS`
    package var sessionAddress: [UInt8]?
    /// `XDG_RUNTIME_DIR`
    package var runtimeDirectory: [UInt8]?
    package var user: UInt32
    /// 32 hexadecimal digits.
    package var machineID: [UInt8]?

    package init(
        sessionAddress: [UInt8]?, runtimeDirectory: [UInt8]?, user: UInt32 = geteuid(),
        machineID: [UInt8]? = nil
    ) {
        self.sessionAddress = sessionAddress
        self.runtimeDirectory = runtimeDirectory
        self.user = user
        self.machineID = machineID
    }

    /// As the environment says now.
    package static func process() -> BusSurroundings {
        BusSurroundings(
            sessionAddress: variable("DBUS_SESSION_BUS_ADDRESS"),
            runtimeDirectory: variable("XDG_RUNTIME_DIR"),
            machineID: machineID("/etc/machine-id") ?? machineID("/var/lib/dbus/machine-id"))
    }

    /// D-Bus Specification, "Well-known Message Bus Instances": where a variable says nothing, the
    /// user's bus of today's systems.
    func sessionAddresses() throws(BusError) -> [BusAddress] {
        if let sessionAddress {
            return try BusAddress.list(sessionAddress, runtimeDirectory: runtimeDirectory)
        }
        guard let runtimeDirectory else { throw .noAddress }
        return try BusAddress.list(
            Array("unix:runtime=yes".utf8), runtimeDirectory: runtimeDirectory)
    }

    /// Nil when it is not set, or empty.
    private static func variable(_ name: String) -> [UInt8]? {
        guard let text = unsafe getenv(name), unsafe text.pointee != 0 else { return nil }
        return unsafe Array(String(cString: text).utf8)
    }

    private static func machineID(_ path: String) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 33)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        guard count >= 32 else { return nil }
        let digits = Array(bytes.prefix(32))
        let isNumber = digits.allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
        }
        return isNumber ? digits : nil
    }
}
