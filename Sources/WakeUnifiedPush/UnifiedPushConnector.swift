public import Reveille
import WakeModel
import WakeSystem

/// The UnifiedPush connector of a client: registers with a distributor on the session bus, hands
/// the endpoint to the service, and wakes the client for every push, whose content is not read. Run
/// it beside `WakeClient.run()`:
/// ```swift
/// let pushes = try UnifiedPushConnector(
///     client, name: "org.example.App", distributor: "org.unifiedpush.Distributor.kde")
/// async let woken: Void = pushes.run()
/// try await client.run()
/// ```
public actor UnifiedPushConnector {
    private let client: WakeClient
    private let name: String
    private let distributor: String
    private let description: String
    private let vapidKey: VAPIDKeyText?
    private let environment: ClientEnvironment
    /// Set by the first `run`, and kept: the service's state does not change with the bus.
    private var record: DistributorRecord?
    private var machine: ConnectorMachine?
    /// The distributor that was replaced, until it is unregistered.
    private var former: DistributorRecord?
    private var hasName = false
    private var isNameTaken = false
    private var isGivenUp = false
    private var isRunning = false
    private var outputs: [ConnectorMachine.Output] = []
    private var isPerforming = false
    private let clockEvent = AsyncEvent()
    private let registerEvent = AsyncEvent()

    /// A connector for one client and one of `distributors()`; does not use the bus yet. `name` is
    /// this app's on the session bus, in reverse DNS style, one for each profile. Some distributors
    /// show `description`, at most 100 bytes, and some require the service's public `vapidKey`.
    /// - Throws: `name`, `description` or `vapidKey`.
    public init(
        _ client: WakeClient, name: String, distributor: String,
        description: String = "wake-ups", vapidKey: String? = nil,
        environment: ClientEnvironment = .live
    ) throws(UnifiedPushError) {
        guard BusGrammar.isWellKnownName(Array(name.utf8)),
            Distributor.isName(Array(distributor.utf8))
        else { throw .name }
        guard description.utf8.count <= UnifiedPush.descriptionBytes,
            BusGrammar.isText(Array(description.utf8))
        else { throw .description }
        self.client = client
        self.name = name
        self.distributor = distributor
        self.description = description
        self.environment = environment
        self.vapidKey = try vapidKey.map { text throws(UnifiedPushError) in
            guard let key = VAPIDKeyText(Array(text.utf8)) else { throw .vapidKey }
            return key
        }
    }

    /// Runs until the task is cancelled, or the profile no longer uses the distributor.
    public func run() async {
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        isGivenUp = false
        var failures = 0
        while !Task.isCancelled, !isGivenUp {
            let start = environment.uptime()
            await runConnection()
            guard !Task.isCancelled, !isGivenUp else { return }
            // A connection that lasted was a success: the next pause is short again.
            failures = environment.uptime() - start >= .seconds(60) ? 1 : failures + 1
            let pause = Backoff.bus.delay(failures: failures, random: environment.randomUnit())
            environment.log(.busLost(retrySeconds: Int(pause.components.seconds)))
            await environment.sleep(pause)
        }
    }

    /// The state of the connector.
    public var status: UnifiedPushStatus {
        if isGivenUp { return .givenUp }
        guard isRunning else { return .stopped }
        guard hasName, let machine else { return isNameTaken ? .nameTaken : .noBus }
        if machine.phase == .registered { return .registered }
        return machine.trouble.map { .failing($0) } ?? .registering
    }

    /// The distributors of this desktop, by name; throws `noBus`.
    public static func distributors() async throws(UnifiedPushError) -> [Distributor] {
        do throws(BusError) {
            let bus = try await BusConnection.session()
            defer { bus.close() }
            return try await bus.distributors()
        } catch { throw .noBus }
    }

    // MARK: One connection to the session bus

    /// Returns when the bus is lost, the task cancelled or the distributor given up.
    private func runConnection() async {
        do throws(BusError) {
            guard await prepare() else { return }
            let bus = try await BusConnection.session(serving: [Self.object])
            defer { bus.close() }
            let owner = try await requestName(on: bus)
            environment.log(.busConnected)
            await serve(bus, owner)
        } catch {
            // No bus, no connection, or the name has another owner: tried again.
        }
        hasName = false
        await process(.disconnected)
    }

    /// The interface that distributors call.
    private static let object = BusObject(
        path: UnifiedPush.connectorPath, interface: UnifiedPush.connectorInterface,
        methods: ["Message", "NewEndpoint", "Unregistered"].map {
            .init($0, "a{sv}", results: "a{sv}")
        })

    private func prepare() async -> Bool {
        guard machine == nil else { return true }
        do throws(ClientError) {
            former = try await client.distributor(before: distributor)
            let record = try await client.distributor(named: distributor)
            let endpoint = try await client.desiredToken()
            self.record = record
            machine = ConnectorMachine(token: record.token.copy(), endpoint: endpoint)
            return true
        } catch {
            // The client meets the same fault and reports it.
            return false
        }
    }

    /// Requests the name last: a bus that activated this program then delivers the kept messages.
    /// - Returns: the distributor's unique name; nil while it does not run.
    private func requestName(on bus: BusConnection) async throws(BusError) -> [UInt8]? {
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
        await process(.connected(owner: owner))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await message in bus.messages { await self.receive(message, on: bus) }
            }
            group.addTask { await self.runClock() }
            group.addTask { await self.keepRegistered(on: bus) }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: Received messages

    private func receive(_ message: BusMessage, on bus: BusConnection) async {
        if message.kind == .signal {
            if let owner = Self.ownerChange(message, of: distributor) {
                await process(.ownerChanged(owner.isEmpty ? nil : owner))
            }
            return
        }
        guard let call = ConnectorCall(message) else { return }
        let outputs = update(.called(call, by: message.sender))
        // Ignored calls get the same answer: no caller learns which token is right.
        var answer: [(String, BusValue)] = []
        if outputs.contains(.acknowledge), case .message(_, let id?) = call {
            answer = [("id", .string(id))]
        }
        try? bus.reply(to: message, [.options(answer)])
        await perform()
    }

    /// - Returns: the new owner, empty for none; nil for another signal.
    private static func ownerChange(_ message: BusMessage, of name: String) -> [UInt8]? {
        // D-Bus Specification, "NameOwnerChanged". The bus vouches for the sender.
        guard message.is("org.freedesktop.DBus", "NameOwnerChanged"),
            message.sender?.elementsEqual("org.freedesktop.DBus".utf8) == true,
            message.body.count == 3, case .string(let changed) = message.body[0],
            changed.elementsEqual(name.utf8), case .string(let owner) = message.body[2]
        else { return nil }
        return owner
    }

    /// Wakes the machine at its next deadline.
    private func runClock() async {
        while !Task.isCancelled {
            let wait = machine?.next.map { max($0 - environment.uptime(), .milliseconds(1)) }
            await clockEvent.wait(for: wait, in: environment)
            await process(.timePassed)
        }
    }

    // MARK: Inputs and outputs of the machine

    private func process(_ input: ConnectorMachine.Input) async {
        _ = update(input)
        await perform()
    }

    private func update(_ input: ConnectorMachine.Input) -> [ConnectorMachine.Output] {
        guard var machine else { return [] }
        let (phase, next) = (machine.phase, machine.next)
        let new = machine.update(input, at: environment.uptime(), random: environment.randomUnit())
        self.machine = machine
        if machine.phase == .registered, phase != .registered { environment.log(.pushesRegistered) }
        outputs += new
        if machine.next != next { clockEvent.signal() }
        return new
    }

    /// Performs the queued outputs in order; a second call leaves them to the first.
    private func perform() async {
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while !outputs.isEmpty { await perform(outputs.removeFirst()) }
    }

    private func perform(_ output: ConnectorMachine.Output) async {
        guard let record else { return }
        do throws(ClientError) {
            switch output {
            case .acknowledge: break
            case .register: registerEvent.signal()
            case .wake:
                environment.log(.pushReceived)
                client.wake(.push)
            case .adopt(let endpoint):
                if try await client.adopt(endpoint, from: record) == .unwanted { giveUp() }
            case .withdraw(let endpoint): try await client.withdraw(endpoint, from: record)
            case .warn(let trouble): try await client.warnOfDistributor(trouble)
            }
        } catch {
            // The state cannot be written now: the endpoint is offered again.
            if case .adopt(let endpoint) = output { _ = update(.notAdopted(endpoint)) }
        }
    }

    private func giveUp() {
        isGivenUp = true
        // Ends the loops of this connection.
        clockEvent.signal()
        registerEvent.signal()
    }

    // MARK: Register

    private func keepRegistered(on bus: BusConnection) async {
        while !Task.isCancelled, !isGivenUp {
            await registerEvent.wait(for: nil, in: environment)
            guard !Task.isCancelled, machine?.phase == .calling, let record else { continue }
            // Another process may have given it up meanwhile; if unreadable, that is noticed later.
            guard (try? await client.has(record)) ?? true else { return giveUp() }
            await process(.answered(await register(on: bus, record)))
            await unregisterFormer(on: bus)
        }
    }

    /// Unregisters from a distributor that was replaced: until then it keeps the endpoint.
    private func unregisterFormer(on bus: BusConnection) async {
        guard let record = former else { return }
        do throws(BusError) {
            try await bus.unregister(record)
        } catch .failed {
            // It is gone, or does not know this app.
        } catch {
            return  // Tried again with the next registration.
        }
        former = nil
    }

    private func register(
        on bus: BusConnection, _ record: DistributorRecord
    ) async -> RegisterResponse {
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
            return RegisterResponse(try await bus.call(call, timeout: UnifiedPush.answerTime))
        } catch { return RegisterResponse(error) }
    }
}

/// The reason why a connector or a call of a distributor failed.
public enum UnifiedPushError: Error, Sendable, Equatable {
    /// Not a valid name on the session bus, or not one of a distributor.
    case name
    /// The description is longer than 100 bytes.
    case description
    /// Not a point on P-256, uncompressed, as 87 characters of base64url.
    case vapidKey
    /// There is no session bus here, or it does not answer.
    case noBus
}

/// The state of a connector.
public enum UnifiedPushStatus: Sendable, Equatable {
    /// `run` is not running.
    case stopped
    /// There is no session bus, or it went away; tried again.
    case noBus
    /// Another process owns the app's name on the bus; tried again.
    case nameTaken
    /// The distributor has not registered the app yet, or failed; tried again.
    case registering
    /// The distributor has sent an endpoint: pushes come.
    case registered
    /// A person must act.
    case failing(DistributorTrouble)
    /// The profile no longer uses this distributor.
    case givenUp
}
