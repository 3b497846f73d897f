private import Glibc
private import WakeModel
import WakeSystem

/// The address of a bus: a Unix socket by path or abstract name (D-Bus Specification, "Addresses").
package struct BusAddress: Sendable, Equatable, Redacted {
    /// The name for `connect(2)`: a path, or a zero byte and an abstract name.
    let socketName: [UInt8]
    /// 32 hexadecimal digits, if the address has them: another bus is refused.
    let guid: [UInt8]?

    /// The supported addresses of a list such as `unix:path=/run/user/1000/bus;unix:abstract=x`, in
    /// the order to try them; `runtimeDirectory` is for `unix:runtime=yes`.
    /// - Throws: `.badAddress`; `.unsupportedAddress` without a supported transport.
    package static func list(
        _ text: [UInt8], runtimeDirectory: [UInt8]? = nil
    ) throws(BusError) -> [BusAddress] {
        var addresses: [BusAddress] = []
        let parts = text.split(separator: UInt8(ascii: ";"))
        for part in parts {
            if let address = try one(part, runtimeDirectory) { addresses.append(address) }
        }
        guard !parts.isEmpty else { throw .badAddress }
        guard !addresses.isEmpty else { throw .unsupportedAddress }
        return addresses
    }

    /// Nil for another transport than `unix`, or one of its forms that only a listener can use.
    private static func one(
        _ text: ArraySlice<UInt8>, _ runtimeDirectory: [UInt8]?
    ) throws(BusError) -> BusAddress? {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex
        else { throw .badAddress }
        var keys: [String: [UInt8]] = [:]
        for pair in text[(colon + 1)...].split(separator: UInt8(ascii: ",")) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), equals > pair.startIndex
            else { throw .badAddress }
            let key = String(decoding: pair[..<equals], as: UTF8.self)
            guard keys[key] == nil else { throw .badAddress }
            keys[key] = try unescaped(pair[(equals + 1)...])
        }
        guard text[..<colon].elementsEqual("unix".utf8) else { return nil }
        let guid = keys["guid"]
        let (path, abstract, runtime) = (keys["path"], keys["abstract"], keys["runtime"])
        // Exactly one of the forms.
        guard [path, abstract, runtime].count(where: { $0 != nil }) <= 1 else { throw .badAddress }
        if let path { return try BusAddress(socketName: checked(path), guid: guid) }
        if let abstract { return try BusAddress(socketName: [0] + checked(abstract), guid: guid) }
        guard let runtime else { return nil }
        guard runtime.elementsEqual("yes".utf8) else { throw .badAddress }
        guard let runtimeDirectory else { return nil }
        return try BusAddress(
            socketName: checked(runtimeDirectory + Array("/bus".utf8)), guid: guid)
    }

    /// unix(7): 108 bytes with the zero at an end.
    private static func checked(_ name: [UInt8]) throws(BusError) -> [UInt8] {
        guard !name.isEmpty, name.count < 107, !name.contains(0) else { throw .badAddress }
        return name
    }

    /// Resolves `%XX`; some bytes need not be escaped, all others must be.
    private static func unescaped(_ text: ArraySlice<UInt8>) throws(BusError) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let decoded = Hex.decode(Array(rest.prefix(2)).span), decoded.count == 1
                else { throw .badAddress }
                bytes += decoded
                rest = rest.dropFirst(2)
            } else if isOptionallyEscaped(byte) {
                bytes.append(byte)
            } else {
                throw .badAddress
            }
        }
        return bytes
    }

    /// `[-0-9A-Za-z_/.\*]`, and `~`, which systemd does not escape.
    private static func isOptionallyEscaped(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-_/.\\*~".utf8.contains(byte)
        }
    }
}

extension BusAddress {
    package init(_ text: String) throws(BusError) { self = try Self.list(Array(text.utf8))[0] }
}

/// The facts about the process that a connection needs.
package struct BusEnvironment: Sendable {
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

    package static func process() -> BusEnvironment {
        BusEnvironment(
            sessionAddress: variable("DBUS_SESSION_BUS_ADDRESS"),
            runtimeDirectory: variable("XDG_RUNTIME_DIR"),
            machineID: machineID("/etc/machine-id") ?? machineID("/var/lib/dbus/machine-id"))
    }

    /// D-Bus Specification, "Well-known Message Bus Instances": without the variable, systemd's.
    func sessionAddresses() throws(BusError) -> [BusAddress] {
        if let sessionAddress {
            return try BusAddress.list(sessionAddress, runtimeDirectory: runtimeDirectory)
        }
        guard let runtimeDirectory else { throw .noAddress }
        return try BusAddress.list(
            Array("unix:runtime=yes".utf8), runtimeDirectory: runtimeDirectory)
    }

    /// The value of a variable; nil when it is not set, or empty.
    private static func variable(_ name: String) -> [UInt8]? {
        guard let text = unsafe getenv(name), unsafe text.pointee != 0 else { return nil }
        return unsafe Array(String(cString: text).utf8)
    }

    private static func machineID(_ path: String) -> [UInt8]? {
        guard let bytes = try? Files.readGiven(path, limit: 64), bytes.count >= 32
        else { return nil }
        let digits = Array(bytes.prefix(32))
        return digits.allSatisfy { $0.isHexDigit && $0.lowercased == $0 } ? digits : nil
    }
}
