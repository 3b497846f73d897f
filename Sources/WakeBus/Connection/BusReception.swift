/// What becomes of a call to us, as a pure function of the call and of what we serve.
struct BusReception: Sendable {
    enum Verdict: Equatable {
        /// To whoever reads the messages.
        case pass
        /// Answered at once.
        case answer(BusMessage)
    }

    private let objects: [BusObject]
    private let machineID: [UInt8]?

    /// - Parameter machineID: 32 hexadecimal digits; nil when the machine has none.
    init(serving objects: [BusObject], machineID: [UInt8]?) {
        self.objects = objects
        self.machineID = machineID
    }

    func verdict(_ call: BusMessage) -> Verdict {
        if let housekeeping = housekeeping(call) { return .answer(housekeeping) }
        let path = objects.filter { call.path?.elementsEqual($0.path.utf8) == true }
        guard !path.isEmpty else { return refuse(call, .unknownObject) }
        // "The interface is optional": then any that has the method.
        let interfaces = path.filter {
            call.interface == nil || call.interface?.elementsEqual($0.interface.utf8) == true
        }
        guard !interfaces.isEmpty else { return refuse(call, .unknownInterface) }
        let methods = interfaces.flatMap(\.methods).filter {
            call.member?.elementsEqual($0.name.utf8) == true
        }
        guard !methods.isEmpty else { return refuse(call, .unknownMethod) }
        guard methods.contains(where: { call.signature == $0.arguments }) else {
            return refuse(call, .invalidArguments)
        }
        return .pass
    }

    private func refuse(_ call: BusMessage, _ failure: BusFailure) -> Verdict {
        .answer(.error(to: call, name: failure.errorName))
    }

    /// What every connection answers. D-Bus Specification, "Standard Interfaces".
    private func housekeeping(_ call: BusMessage) -> BusMessage? {
        if call.is("org.freedesktop.DBus.Peer", "Ping") {
            return .reply(to: call)
        }
        if call.is("org.freedesktop.DBus.Peer", "GetMachineId") {
            guard let machineID else {
                return .error(to: call, name: BusFailure.other.errorName)
            }
            return .reply(to: call, [.string(machineID)])
        }
        if call.is("org.freedesktop.DBus.Introspectable", "Introspect"), let path = call.path {
            guard let text = introspection(String(decoding: path, as: UTF8.self)) else {
                return nil
            }
            return .reply(to: call, [.string(text)])
        }
        return nil
    }

    /// Nil where there is nothing.
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
        var place = 0
        while place < signature.bytes.count {
            let end = BusSignature.skip(signature.bytes, at: place)
            let type = String(decoding: signature.bytes[place..<end], as: UTF8.self)
            text += "      <arg type=\"\(type)\" direction=\"\(direction)\"/>\n"
            place = end
        }
        return text
    }
}
