package import WakeBus
package import WakeClient
import WakeModel

// One connection to the session bus, from its begin to its end.

extension UnifiedPushConnector {
    /// Returns when the bus is lost, the task cancelled or the distributor given up.
    func connection() async {
        do throws(BusError) {
            guard await prepare() else { return }
            let bus = try await BusConnection.session(serving: [Self.object])
            defer { bus.close() }
            let owner = try await introduce(to: bus)
            environment.log(.busConnected)
            await serve(bus, owner)
        } catch {
            // No bus, no place on it, or our name is somebody else's: tried again.
        }
        hasName = false
        await feed(.disconnected)
    }

    /// What may be called at us.
    private static let object = BusObject(
        path: UnifiedPush.connectorPath, interface: UnifiedPush.connectorInterface,
        methods: ["Message", "NewEndpoint", "Unregistered"].map {
            .init($0, "a{sv}", results: "a{sv}")
        })

    /// Reads what the profile knows.
    private func prepare() async -> Bool {
        guard machine == nil else { return true }
        do throws(ClientError) {
            former = try await client.distributor(before: distributor)
            let record = try await client.distributor(named: distributor)
            let endpoint = try await client.wishedToken()
            self.record = record
            machine = ConnectorMachine(token: record.token.copy(), endpoint: endpoint)
            return true
        } catch {
            // The client meets the same fault, and says so.
            return false
        }
    }

    /// The name comes last: with it comes what the bus has kept for us if it started us, and by
    /// then we know whom to believe.
    /// - Returns: the distributor's unique name; nil while it does not run.
    private func introduce(to bus: BusConnection) async throws(BusError) -> [UInt8]? {
        try await bus.addMatch(
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                + "member='NameOwnerChanged',arg0='\(distributor)'")
        let owner = try await bus.nameOwner(distributor)
        isNameTaken = try await !bus.requestName(name)
        guard !isNameTaken else { throw .closed }
        hasName = true
        return owner
    }

    private func serve(_ bus: BusConnection, _ owner: [UInt8]?) async {
        await feed(.connected(owner: owner))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await message in bus.messages { await self.receive(message, on: bus) }
            }
            group.addTask { await self.keepTime() }
            group.addTask { await self.keepRegistered(on: bus) }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: What comes

    private func receive(_ message: BusMessage, on bus: BusConnection) async {
        if message.kind == .signal {
            if let owner = Self.ownerChange(message, of: distributor) {
                await feed(.ownerChanged(owner.isEmpty ? nil : owner))
            }
            return
        }
        guard let call = ConnectorCall(message) else { return }
        let isTaken = take(.called(call, by: message.sender)).contains(.acknowledge)
        // The same for whatever is ignored: nobody learns which token is right.
        var answer: [(String, BusValue)] = []
        if isTaken, case .message(_, let id?) = call { answer = [("id", .string(id))] }
        try? bus.reply(to: message, [.options(answer)])
        await perform()
    }

    /// - Returns: the new owner, empty for none; nil for another signal.
    private static func ownerChange(_ message: BusMessage, of name: String) -> [UInt8]? {
        // D-Bus Specification, "NameOwnerChanged". The bus says who sends.
        guard message.is("org.freedesktop.DBus", "NameOwnerChanged"),
            message.sender?.elementsEqual("org.freedesktop.DBus".utf8) == true,
            message.body.count == 3, case .string(let changed) = message.body[0],
            changed.elementsEqual(name.utf8), case .string(let owner) = message.body[2]
        else { return nil }
        return owner
    }

    /// Tells the machine the time when it wants to know it.
    private func keepTime() async {
        while !Task.isCancelled {
            let wait = machine?.next.map { max($0 - environment.uptime(), .milliseconds(1)) }
            await clockBell.wait(for: wait, in: environment)
            await feed(.timePassed)
        }
    }

    // MARK: What is done about it

    /// Tells the machine, and does what it says.
    func feed(_ input: ConnectorMachine.Input) async {
        _ = take(input)
        await perform()
    }

    private func take(_ input: ConnectorMachine.Input) -> [ConnectorMachine.Output] {
        guard var machine else { return [] }
        let (phase, next) = (machine.phase, machine.next)
        let new = machine.take(
            input, at: environment.uptime(), random: environment.randomUnit())
        self.machine = machine
        if machine.phase == .standing, phase != .standing { environment.log(.pushesStand) }
        outputs += new
        if machine.next != next { clockBell.ring() }
        return new
    }

    /// One at a time, in order: a second call leaves its work to the first.
    private func perform() async {
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while !outputs.isEmpty {
            await perform(outputs.removeFirst())
        }
    }

    private func perform(_ output: ConnectorMachine.Output) async {
        guard let record else { return }
        do throws(ClientError) {
            switch output {
            case .acknowledge: break
            case .register: registerBell.ring()
            case .wake:
                environment.log(.pushReceived)
                client.wake(.push)
            case .adopt(let endpoint):
                if try await client.adopt(endpoint, from: record) == .unwanted { giveUp() }
            case .withdraw(let endpoint): try await client.withdraw(endpoint, from: record)
            case .note(let trouble): try await client.noteDistributor(trouble)
            }
        } catch {
            // The state cannot be written now: the endpoint is offered again.
            if case .adopt(let endpoint) = output { _ = take(.notAdopted(endpoint)) }
        }
    }

    private func giveUp() {
        isGivenUp = true
        // The loops of this connection end.
        clockBell.ring()
        registerBell.ring()
    }

    // MARK: Register

    private func keepRegistered(on bus: BusConnection) async {
        while !Task.isCancelled, !isGivenUp {
            await registerBell.wait(for: nil, in: environment)
            guard !Task.isCancelled, machine?.phase == .calling, let record else { continue }
            // Another process may have given it up meanwhile; if that cannot be read, then later.
            guard (try? await client.has(record)) ?? true else { return giveUp() }
            await feed(.answered(await register(on: bus, record)))
            await leaveFormer(on: bus)
        }
    }

    /// A distributor that was replaced keeps its endpoint, and shows this app, until it is told.
    private func leaveFormer(on bus: BusConnection) async {
        guard let record = former else { return }
        do throws(BusError) {
            try await bus.unregister(record)
            former = nil
        } catch .failed {
            // It is not there any more, or does not know us.
            former = nil
        } catch {
            // Told with the next registration.
        }
    }

    private func register(
        on bus: BusConnection, _ record: DistributorRecord
    ) async -> RegisterAnswer {
        var arguments: [(String, BusValue)] = [
            ("service", .string(name)), ("token", .string(record.token.copy())),
        ]
        if !description.isEmpty { arguments.append(("description", .string(description))) }
        if let vapidKey { arguments.append(("vapid", .string(vapidKey.text))) }
        let call = BusMessage.call(
            distributor, path: UnifiedPush.distributorPath,
            interface: UnifiedPush.distributorInterface, member: "Register",
            [.options(arguments)])
        do throws(BusError) {
            return RegisterAnswer(try await bus.call(call, timeout: UnifiedPush.answerTime))
        } catch {
            return RegisterAnswer(error)
        }
    }
}

extension BusConnection {
    /// Tells a distributor to forget a token. That it did may be told to the connector later.
    package func unregister(_ record: DistributorRecord) async throws(BusError) {
        _ = try await call(
            .call(
                record.name, path: UnifiedPush.distributorPath,
                interface: UnifiedPush.distributorInterface, member: "Unregister",
                [.options([("token", .string(record.token.copy()))])]))
    }
}
