/// Where a bus listens: a Unix socket, by path or abstract name.
/// D-Bus Specification, "Server Addresses", "Unix Domain Sockets".
package struct BusAddress: Sendable, Equatable {
    /// What `connect(2)` takes: a path, or a zero byte and an abstract name.
    let socketName: [UInt8]
    /// The bus's own number, 32 hexadecimal digits, when the address says it: another bus that
    /// listens there is refused.
    let guid: [UInt8]?

    /// The addresses of a list that we can speak to, in the order to try them.
    ///
    /// - Parameters:
    ///   - text: addresses with `;` between them, such as `unix:path=/run/user/1000/bus`.
    ///   - runtimeDirectory: for `unix:runtime=yes`.
    /// - Throws: `.badAddress` for a text that is no list; `.unsupportedAddress` when it names only
    ///   other transports.
    package static func list(
        _ text: [UInt8], runtimeDirectory: [UInt8]? = nil
    ) throws(BusError) -> [BusAddress] {
        var addresses: [BusAddress] = []
        var isEmpty = true
        for part in text.split(separator: UInt8(ascii: ";")) {
            isEmpty = false
            let address = try one(part, runtimeDirectory)
            if let address { addresses.append(address) }
        }
        guard !isEmpty else { throw .badAddress }
        guard !addresses.isEmpty else { throw .unsupportedAddress }
        return addresses
    }

    /// The first address of a list.
    package init(_ text: String) throws(BusError) {
        let list = try Self.list(Array(text.utf8))
        self = list[0]
    }

    private init(socketName: [UInt8], guid: [UInt8]?) {
        self.socketName = socketName
        self.guid = guid
    }

    /// Nil for another transport than `unix`, or one of its forms that only a listener can use.
    private static func one(
        _ text: ArraySlice<UInt8>, _ runtimeDirectory: [UInt8]?
    ) throws(BusError) -> BusAddress? {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex else {
            throw .badAddress
        }
        var keys: [[UInt8]: [UInt8]] = [:]
        for pair in text[(colon + 1)...].split(
            separator: UInt8(ascii: ","), omittingEmptySubsequences: true)
        {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), equals > pair.startIndex
            else { throw .badAddress }
            let key = Array(pair[..<equals])
            guard keys[key] == nil else { throw .badAddress }
            keys[key] = try unescaped(pair[(equals + 1)...])
        }
        guard text[..<colon].elementsEqual("unix".utf8) else { return nil }
        let guid = keys[Array("guid".utf8)]
        let path = keys[Array("path".utf8)]
        let abstract = keys[Array("abstract".utf8)]
        let runtime = keys[Array("runtime".utf8)]
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

    /// `%XX` is a byte; some bytes need not be escaped, all others must be.
    private static func unescaped(_ text: ArraySlice<UInt8>) throws(BusError) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = digit(rest.popFirst()), let low = digit(rest.popFirst()) else {
                    throw .badAddress
                }
                bytes.append(high << 4 | low)
            } else if isOptionallyEscaped(byte) {
                bytes.append(byte)
            } else {
                throw .badAddress
            }
        }
        return bytes
    }

    /// `[-0-9A-Za-z_/.\*]`, and `~`, which systemd writes as it is.
    private static func isOptionallyEscaped(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-_/.\\*~".utf8.contains(byte)
        }
    }

    private static func digit(_ byte: UInt8?) -> UInt8? {
        switch byte {
        case .some(let byte) where (0x30...0x39).contains(byte): byte - 0x30
        case .some(let byte) where (0x41...0x46).contains(byte): byte - 0x41 + 10
        case .some(let byte) where (0x61...0x66).contains(byte): byte - 0x61 + 10
        default: nil
        }
    }
}

extension BusAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(bus address)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
