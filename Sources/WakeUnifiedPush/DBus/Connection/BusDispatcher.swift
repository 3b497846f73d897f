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
        if call.interface?.elementsEqual(BusObject.propertiesInterface.utf8) == true {
            return propertyAnswer(call)
        }
        guard call.is("org.freedesktop.DBus.Introspectable", "Introspect"), let path = call.path,
            let text = introspection(String(decoding: path, as: UTF8.self))
        else { return nil }
        return .reply(to: call, [.string(text)])
    }

    /// The answer of a path with an object; nil for any other.
    private func propertyAnswer(_ call: BusMessage) -> BusMessage? {
        let here = objects.filter { call.path?.elementsEqual($0.path.utf8) == true }
        guard !here.isEmpty else { return nil }
        let member = call.member.map { String(decoding: $0, as: UTF8.self) }
        let signatures: [String: BusSignature] = ["Get": "ss", "GetAll": "s", "Set": "ssv"]
        guard let member, let signature = signatures[member]
        else { return refuse(call, .unknownMethod) }
        guard call.signature == signature, case .string(let interface) = call.body[0]
        else { return refuse(call, .invalidArguments) }
        // "An empty string may be provided for the interface name".
        let found = here.filter {
            interface.isEmpty || interface.elementsEqual($0.interface.utf8)
        }
        guard !found.isEmpty else { return refuse(call, .unknownInterface) }
        let properties = found.flatMap(\.properties)
        if member == "GetAll" {
            return .reply(to: call, [.options(properties.map { ($0.name, $0.read()) })])
        }
        guard let property = properties.first(where: { call.body[1] == .string($0.name) })
        else { return refuse(call, .unknownProperty) }
        if member == "Set" { return refuse(call, .readOnlyProperty) }
        return .reply(to: call, [.variant(property.read())])
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
        if !here.isEmpty { text += BusObject.standardIntrospection }
        for object in here { text += object.introspection }
        for child in children.sorted() { text += "  <node name=\"\(child)\"/>\n" }
        return text + "</node>\n"
    }
}
