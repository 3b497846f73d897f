/// A connection to the user's message bus: calls with replies, and a stream of what comes to us.
///
/// One thread serves it, and is gone when the connection is closed or released. Replies are dropped
/// when they come too late or from somebody else than was asked.
package final class BusConnection: Sendable {
    /// What the bus calls us, such as `:1.7`.
    package let uniqueName: [UInt8]

    /// Calls of what we serve, and signals, in order of arrival, for one reader. Ends when the
    /// connection does.
    ///
    /// Bounded by `BusLimits`: beyond it calls are answered `LimitsExceeded`, signals of other
    /// connections are lost, and a signal of the bus itself (`NameOwnerChanged`) ends the
    /// connection with `.overflow`, so that nobody relies on names that have changed.
    package let messages: AsyncStream<BusMessage>

    private let link: BusLink

    private static let busPath = "/org/freedesktop/DBus"
    private static let bus = "org.freedesktop.DBus"

    /// Connects to the session bus.
    ///
    /// - Parameters:
    ///   - address: nil for `DBUS_SESSION_BUS_ADDRESS`, or else `bus` in `XDG_RUNTIME_DIR`.
    ///   - serving: what may be called; a call of anything else is answered with an error.
    /// - Throws: `.noAddress`, `.badAddress`, `.unsupportedAddress`, `.unreachable`, `.refused`,
    ///   `.noBus`, `.timedOut`, `.closed`.
    package static func session(
        address: BusAddress? = nil, serving: [BusObject] = [],
        surroundings: BusSurroundings = .process()
    ) async throws(BusError) -> BusConnection {
        let addresses: [BusAddress]
        if let address {
            addresses = [address]
        } else {
            addresses = try surroundings.sessionAddresses()
        }
        let link = try BusLink()
        let reception = BusReception(serving: serving, machineID: surroundings.machineID)
        let user = surroundings.user
        try BusThread.start { BusLoop.run(link, reception, addresses, user: user) }
        do throws(BusError) {
            try await link.opened()
            // "Before sending any other message": the bus gives a name.
            let answer = try await link.call(
                .call(bus, path: busPath, interface: bus, member: "Hello"),
                timeout: .seconds(BusLimits.openingSeconds))
            guard case .string(let name)? = answer.body.first, answer.body.count == 1,
                BusGrammar.isUniqueName(name)
            else { throw .noBus }
            return BusConnection(link, name)
        } catch {
            link.end(.closed)
            throw error
        }
    }

    private init(_ link: BusLink, _ uniqueName: [UInt8]) {
        self.link = link
        self.uniqueName = uniqueName
        let inbox = link.inbox
        messages = AsyncStream(unfolding: { await inbox.next() })
    }

    deinit { link.end(.closed) }

    /// Why it ended: `.closed` by us or by the bus, `.malformed`, `.overflow`; nil while it lives.
    package var ending: BusError? { link.ending }

    /// Sends a call and waits for its reply.
    ///
    /// - Throws: `.failed` when it is answered with an error, `.timedOut`, `.cancelled`, `.closed`,
    ///   `.overflow`, `.tooLarge`, and `.malformed` for a message that is none.
    package func call(
        _ message: BusMessage, timeout: Duration = .seconds(25)
    ) async throws(BusError) -> BusMessage {
        precondition(message.kind == .call, "no call")
        precondition(!message.flags.contains(.noReplyExpected), "a call without reply is sent")
        return try await link.call(message, timeout: timeout)
    }

    /// Sends a signal, or a call whose reply nobody waits for. Returns before it is on its way.
    package func send(_ message: BusMessage) throws(BusError) {
        try link.send(message)
    }

    /// Answers a call that came by `messages`; nothing is sent to who expects nothing.
    package func reply(to call: BusMessage, _ body: [BusValue] = []) throws(BusError) {
        guard !call.flags.contains(.noReplyExpected) else { return }
        try link.send(.reply(to: call, body))
    }

    /// - Parameter name: an error's name, such as `org.freedesktop.DBus.Error.Failed`.
    package func replyError(to call: BusMessage, name: String) throws(BusError) {
        guard !call.flags.contains(.noReplyExpected) else { return }
        try link.send(.error(to: call, name: Array(name.utf8)))
    }

    /// Ends it at once: whoever waits for a reply gets `.closed`. What was sent before is sent, as
    /// far as the bus takes it without waiting.
    package func close() { link.end(.closed) }
}

extension BusConnection {
    /// Asks for a well-known name, never to wait for it.
    ///
    /// - Returns: whether we have it now.
    package func requestName(_ name: String) async throws(BusError) -> Bool {
        // "DBUS_NAME_FLAG_DO_NOT_QUEUE" is 4; 1 says that we are the owner, 4 that we were already.
        let doNotQueue = UInt32(4)
        let answer = try await askBus("RequestName", [.string(name), .uint32(doNotQueue)])
        guard case .uint32(let code)? = answer.first else { throw .unexpectedAnswer }
        return code == 1 || code == 4
    }

    /// Asks for signals, such as
    /// `type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'`.
    package func addMatch(_ rule: String) async throws(BusError) {
        _ = try await askBus("AddMatch", [.string(rule)])
    }

    /// - Returns: the unique name of who has `name`; nil when nobody has.
    package func nameOwner(_ name: String) async throws(BusError) -> [UInt8]? {
        do throws(BusError) {
            let answer = try await askBus("GetNameOwner", [.string(name)])
            guard case .string(let owner)? = answer.first else { throw .unexpectedAnswer }
            return owner
        } catch .failed(.nameHasNoOwner) {
            return nil
        }
    }

    /// - Returns: all names that somebody has, or that somebody can be started for.
    package func names() async throws(BusError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        for method in ["ListNames", "ListActivatableNames"] {
            guard case .array(_, let found)? = try await askBus(method, []).first else {
                throw .unexpectedAnswer
            }
            for case .string(let name) in found where !names.contains(name) { names.append(name) }
        }
        return names
    }

    private func askBus(
        _ member: String, _ body: [BusValue]
    ) async throws(BusError) -> [BusValue] {
        try await call(
            .call(
                Self.bus, path: Self.busPath, interface: Self.bus, member: member, body)
        ).body
    }
}
