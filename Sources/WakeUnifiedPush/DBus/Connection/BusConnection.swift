import WakeSystem

/// A connection to the user's message bus: calls with replies, and a stream of received messages.
package final class BusConnection: Sendable {
    /// The unique name that the bus has assigned, such as `:1.7`.
    package let uniqueName: [UInt8]

    /// Calls of served methods, and signals, in order, for one reader. Beyond `BusLimits` calls are
    /// answered `LimitsExceeded`, signals of other connections are lost, and a signal of the bus
    /// itself ends the connection with `.overflow`: no reader relies on stale names.
    package let messages: AsyncStream<BusMessage>

    private let session: BusSession

    private static let busPath = "/org/freedesktop/DBus"
    private static let bus = "org.freedesktop.DBus"

    /// Connects to the session bus; a nil `address` is `DBUS_SESSION_BUS_ADDRESS`, or else `bus` in
    /// `XDG_RUNTIME_DIR`. Calls of other methods than `serving` are answered with an error.
    /// - Throws: `.noAddress`, `.badAddress`, `.unsupportedAddress`, `.unreachable`, `.refused`,
    ///   `.noBus`, `.timedOut`, `.closed`.
    package static func session(
        address: BusAddress? = nil, serving: [BusObject] = [],
        environment: BusEnvironment = .process()
    ) async throws(BusError) -> BusConnection {
        let addresses = if let address { [address] } else { try environment.sessionAddresses() }
        let session = try BusSession()
        let dispatcher = BusDispatcher(objects: serving, machineID: environment.machineID)
        let user = environment.user
        try mapError({ BusError.system($0.number) }) { () throws(SystemError) in
            try SystemThread.start { BusLoop.run(session, dispatcher, addresses, user: user) }
        }
        do throws(BusError) {
            try await session.opened()
            // "Before sending any other message": the bus assigns a name.
            let answer = try await session.call(
                .call(bus, path: busPath, interface: bus, member: "Hello"),
                timeout: .seconds(BusLimits.openingSeconds))
            guard case .string(let name)? = answer.body.first, answer.body.count == 1,
                BusGrammar.isUniqueName(name)
            else { throw .noBus }
            return BusConnection(session, name)
        } catch {
            session.end(.closed)
            throw error
        }
    }

    private init(_ session: BusSession, _ uniqueName: [UInt8]) {
        self.session = session
        self.uniqueName = uniqueName
        let received = session.received
        messages = AsyncStream(unfolding: { await received.next() })
    }

    deinit { session.end(.closed) }

    package var ending: BusError? { session.ending }

    /// Sends a call and waits for its reply. Throws `.failed` for an error as answer, `.timedOut`,
    /// `.cancelled`, `.closed`, `.overflow`, `.tooLarge`, or `.malformed` for an invalid message.
    package func call(
        _ message: BusMessage, timeout: Duration = .seconds(25)
    ) async throws(BusError) -> BusMessage {
        precondition(message.kind == .call, "no call")
        precondition(!message.flags.contains(.noReplyExpected), "a call without reply is sent")
        return try await session.call(message, timeout: timeout)
    }

    /// Queues a signal, or a call without a reply, and returns.
    package func send(_ message: BusMessage) throws(BusError) { try session.send(message) }

    /// Replies to a call of `messages`, unless its caller expects nothing.
    package func reply(to call: BusMessage, _ body: [BusValue] = []) throws(BusError) {
        guard !call.flags.contains(.noReplyExpected) else { return }
        try session.send(.reply(to: call, body))
    }

    /// Answers a call of `messages` with an error, unless its caller expects nothing.
    package func refuse(_ call: BusMessage, _ failure: BusFailure) throws(BusError) {
        guard !call.flags.contains(.noReplyExpected) else { return }
        try session.send(.error(to: call, name: failure.errorName))
    }

    /// Ends the connection: pending calls throw `.closed`, queued bytes are sent without waiting.
    package func close() { session.end(.closed) }

    // MARK: Methods of the bus

    /// Requests a well-known name, without waiting in its queue; returns whether it is owned now.
    package func requestName(_ name: String) async throws(BusError) -> Bool {
        // DBUS_NAME_FLAG_DO_NOT_QUEUE is 4; answers: 1 is primary owner, 4 is already owner.
        let answer = try await callBus("RequestName", [.string(name), .uint32(4)])
        guard case .uint32(let code)? = answer.first else { throw .unexpectedAnswer }
        return code == 1 || code == 4
    }

    /// Subscribes to signals, such as `type='signal',member='NameOwnerChanged'`.
    package func addMatch(_ rule: String) async throws(BusError) {
        _ = try await callBus("AddMatch", [.string(rule)])
    }

    /// - Returns: the unique name of the owner of `name`; nil without an owner.
    package func nameOwner(_ name: String) async throws(BusError) -> [UInt8]? {
        do throws(BusError) {
            let answer = try await callBus("GetNameOwner", [.string(name)])
            guard case .string(let owner)? = answer.first else { throw .unexpectedAnswer }
            return owner
        } catch .failed(.nameHasNoOwner) { return nil }
    }

    package func names() async throws(BusError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        for method in ["ListNames", "ListActivatableNames"] {
            guard case .array(_, let found)? = try await callBus(method, []).first
            else { throw .unexpectedAnswer }
            for case .string(let name) in found where !names.contains(name) { names.append(name) }
        }
        return names
    }

    private func callBus(
        _ member: String, _ body: [BusValue]
    ) async throws(BusError) -> [BusValue] {
        try await call(
            .call(Self.bus, path: Self.busPath, interface: Self.bus, member: member, body)
        ).body
    }
}
