/// The calls that are answered at once: a pure function of the call and the served objects.
struct BusDispatcher: Sendable {
    let objects: [BusObject]
    /// 32 hexadecimal digits; nil when the machine has none.
    let machineID: [UInt8]?

    /// The answer to a call; nil when the reader of the messages gets it.
    func answer(to call: BusMessage) -> BusMessage? {
        if let answer = standardAnswer(call) { return answer }
        let path = objects.filter { call.path?.elementsEqual($0.path.utf8) == true }
        guard !path.isEmpty else { return refuse(call, .unknownObject) }
        // "The interface is optional": then any interface that has the method.
        let interfaces = path.filter {
            call.interface == nil || call.interface?.elementsEqual($0.interface.utf8) == true
        }
        guard !interfaces.isEmpty else { return refuse(call, .unknownInterface) }
        let methods = interfaces.flatMap(\.methods).filter {
            call.member?.elementsEqual($0.name.utf8) == true
        }
        guard !methods.isEmpty else { return refuse(call, .unknownMethod) }
        let isValid = methods.contains { call.signature == $0.arguments }
        return isValid ? nil : refuse(call, .invalidArguments)
    }

    private func refuse(_ call: BusMessage, _ failure: BusFailure) -> BusMessage {
        .error(to: call, name: failure.errorName)
    }

    /// The answer of every connection (D-Bus Specification, "Standard Interfaces").
    private func standardAnswer(_ call: BusMessage) -> BusMessage? {
        if call.is("org.freedesktop.DBus.Peer", "Ping") { return .reply(to: call) }
        if call.is("org.freedesktop.DBus.Peer", "GetMachineId") {
            guard let machineID else { return refuse(call, .other) }
            return .reply(to: call, [.string(machineID)])
        }
        guard call.is("org.freedesktop.DBus.Introspectable", "Introspect"), let path = call.path,
            let text = introspection(String(decoding: path, as: UTF8.self))
        else { return nil }
        return .reply(to: call, [.string(text)])
    }

    /// The description of a path; nil when no object is there or below.
    private func introspection(_ path: String) -> String? {
        let prefix = path == "/" ? "/" : path + "/"
        let children = Set(
            objects.filter { $0.path.hasPrefix(prefix) && $0.path != path }
                .compactMap { $0.path.dropFirst(prefix.count).split(separator: "/").first })
        let here = objects.filter { $0.path == path }
        guard !children.isEmpty || !here.isEmpty || path == "/" else { return nil }
        var text = "<!DOCTYPE node PUBLIC "
        text += "\"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"\n"
        text += "\"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">\n<node>\n"
        for object in here { text += Self.introspection(object) }
        for child in children.sorted() { text += "  <node name=\"\(child)\"/>\n" }
        return text + "</node>\n"
    }

    private static func introspection(_ object: BusObject) -> String {
        var text = "  <interface name=\"\(object.interface)\">\n"
        for method in object.methods {
            text += "    <method name=\"\(method.name)\">\n"
            text += arguments(method.arguments, "in") + arguments(method.results, "out")
            text += "    </method>\n"
        }
        return text + "  </interface>\n"
    }

    private static func arguments(_ signature: BusSignature, _ direction: String) -> String {
        var text = ""
        var position = 0
        while position < signature.bytes.count {
            let end = BusSignature.skip(signature.bytes, at: position)
            let type = String(decoding: signature.bytes[position..<end], as: UTF8.self)
            text += "      <arg type=\"\(type)\" direction=\"\(direction)\"/>\n"
            position = end
        }
        return text
    }
}

/// The methods of one interface at one path that may be called.
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

    package let path: String
    package let interface: String
    package let methods: [Method]

    package init(path: String, interface: String, methods: [Method]) {
        precondition(BusGrammar.isObjectPath(Array(path.utf8)), "no path")
        precondition(BusGrammar.isInterface(Array(interface.utf8)), "no name of an interface")
        self.path = path
        self.interface = interface
        self.methods = methods
    }
}
