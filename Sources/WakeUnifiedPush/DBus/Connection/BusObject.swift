/// One interface at one path: methods that may be called, properties to read, and signals.
package struct BusObject: Sendable {
    package struct Method: Sendable {
        package let name: String
        /// The argument types: a call with others is answered with an error.
        package let arguments: BusSignature
        /// The result types, for introspection.
        package let results: BusSignature

        package init(_ name: String, _ arguments: BusSignature, results: BusSignature = .empty) {
            precondition(BusGrammar.isMember(Array(name.utf8)), "no name of a method")
            self.name = name
            self.arguments = arguments
            self.results = results
        }
    }

    /// A property that others may read; its server sends `propertiesChanged`.
    package struct Property: Sendable {
        package let name: String
        package let type: BusSignature
        /// Called on the connection's thread.
        let read: @Sendable () -> BusValue

        package init(
            _ name: String, _ type: BusSignature, read: @escaping @Sendable () -> BusValue
        ) {
            precondition(BusGrammar.isMember(Array(name.utf8)), "no name of a property")
            self.name = name
            self.type = type
            self.read = read
        }
    }

    package let path: String
    package let interface: String
    package let methods: [Method]
    package let properties: [Property]
    /// Signals with their argument types, for introspection.
    package let signals: [(name: String, arguments: BusSignature)]

    package init(
        path: String, interface: String, methods: [Method], properties: [Property] = [],
        signals: [(name: String, arguments: BusSignature)] = []
    ) {
        precondition(BusGrammar.isObjectPath(Array(path.utf8)), "no path")
        precondition(BusGrammar.isInterface(Array(interface.utf8)), "no name of an interface")
        self.path = path
        self.interface = interface
        self.methods = methods
        self.properties = properties
        self.signals = signals
    }

    static let propertiesInterface = "org.freedesktop.DBus.Properties"

    /// The signal that the properties have new values (D-Bus Specification,
    /// "org.freedesktop.DBus.Properties").
    package var propertiesChanged: BusMessage {
        .signal(
            path: path, interface: Self.propertiesInterface, member: "PropertiesChanged",
            [
                .string(interface), .options(properties.map { ($0.name, $0.read()) }),
                .strings([]),
            ])
    }

    // MARK: Introspection

    /// The description of this interface (D-Bus Specification, "Introspection Data Format").
    var introspection: String {
        var text = "  <interface name=\"\(interface)\">\n"
        for method in methods {
            text += "    <method name=\"\(method.name)\">\n"
            text += Self.arguments(method.arguments, direction: "in")
            text += Self.arguments(method.results, direction: "out")
            text += "    </method>\n"
        }
        for signal in signals {
            text += "    <signal name=\"\(signal.name)\">\n"
            text += Self.arguments(signal.arguments, direction: nil)
            text += "    </signal>\n"
        }
        for property in properties {
            let type = String(decoding: property.type.bytes, as: UTF8.self)
            text += "    <property name=\"\(property.name)\" type=\"\(type)\" access=\"read\"/>\n"
        }
        return text + "  </interface>\n"
    }

    /// The interfaces that are answered at every path with an object.
    static var standardIntrospection: String {
        let standard: [BusObject] = [
            BusObject(
                path: "/", interface: "org.freedesktop.DBus.Introspectable",
                methods: [.init("Introspect", "", results: "s")]),
            BusObject(
                path: "/", interface: "org.freedesktop.DBus.Peer",
                methods: [.init("Ping", ""), .init("GetMachineId", "", results: "s")]),
            BusObject(
                path: "/", interface: propertiesInterface,
                methods: [
                    .init("Get", "ss", results: "v"), .init("GetAll", "s", results: "a{sv}"),
                    .init("Set", "ssv"),
                ], signals: [("PropertiesChanged", "sa{sv}as")]),
        ]
        return standard.map(\.introspection).joined()
    }

    private static func arguments(_ signature: BusSignature, direction: String?) -> String {
        let direction = direction.map { " direction=\"\($0)\"" } ?? ""
        var text = ""
        var position = 0
        while position < signature.bytes.count {
            let end = BusSignature.skip(signature.bytes, at: position)
            let type = String(decoding: signature.bytes[position..<end], as: UTF8.self)
            text += "      <arg type=\"\(type)\"\(direction)/>\n"
            position = end
        }
        return text
    }
}
