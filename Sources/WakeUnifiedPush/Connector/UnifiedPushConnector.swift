package import WakeBus
public import WakeClient

/// Has a client woken by UnifiedPush: registers with a distributor on the session bus, leaves the
/// endpoint with the service, and wakes the client for every push.
///
/// Run it beside `WakeClient.run()`:
/// ```swift
/// let pushes = try UnifiedPushConnector(
///     client, name: "org.example.App", distributor: "org.unifiedpush.Distributor.kde")
/// async let woken: Void = pushes.run()
/// try await client.run()
/// ```
/// What a push says is not read: it is a wake-up and nothing more. While no pushes come, whatever
/// the reason, event stream and polling serve alone.
public actor UnifiedPushConnector {
    let client: WakeClient
    let name: String
    let distributor: String
    let description: String
    let vapidKey: VAPIDKeyText?
    let environment: ClientEnvironment

    /// Made by the first `run`, and kept: what the service holds does not change with the bus.
    var record: DistributorRecord?
    var machine: ConnectorMachine?
    /// Whose place the distributor has taken, until it was told so.
    var former: DistributorRecord?
    var hasName = false
    var isNameTaken = false
    var isGivenUp = false
    private var isRunning = false

    /// What is to be done, in order; one does it.
    var outputs: [ConnectorMachine.Output] = []
    var isPerforming = false
    let clockBell = Bell()
    let registerBell = Bell()

    /// A connector for one client and one distributor. Nothing is asked of the bus yet.
    /// - Parameters:
    ///   - name: this app's name on the session bus, in reverse DNS style, one for each profile:
    ///     distributors call it, and the bus can start the app for it.
    ///   - distributor: as `distributors()` names it.
    ///   - description: what distributors may show to the person, 100 bytes at most.
    ///   - vapidKey: the service's public key for Web Push, which some distributors want.
    ///   - environment: the one that the client has.
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

    /// Stays on the bus until the task is cancelled, or the profile gives the distributor up.
    public func run() async {
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        isGivenUp = false
        var failures = 0
        while !Task.isCancelled, !isGivenUp {
            let start = environment.uptime()
            await connection()
            guard !Task.isCancelled, !isGivenUp else { return }
            // A bus that lasted worked: the next pause starts small again.
            failures = environment.uptime() - start >= .seconds(60) ? 1 : failures + 1
            let pause = Backoff.bus.delay(failures: failures, random: environment.randomUnit())
            environment.log(.busLost(retrySeconds: Int(pause.components.seconds)))
            await environment.sleep(pause)
        }
    }

    /// Whether pushes come.
    public var status: UnifiedPushStatus {
        if isGivenUp { return .givenUp }
        guard isRunning else { return .stopped }
        guard hasName, let machine else { return isNameTaken ? .nameTaken : .noBus }
        if machine.phase == .standing { return .registered }
        return machine.trouble.map { .failing($0) } ?? .registering
    }

    /// The distributors of this desktop, by name.
    /// - Throws: `noBus`.
    public static func distributors() async throws(UnifiedPushError) -> [Distributor] {
        do throws(BusError) {
            let bus = try await BusConnection.session()
            defer { bus.close() }
            return try await bus.distributors()
        } catch {
            throw .noBus
        }
    }
}

extension BusConnection {
    /// - Returns: those that run, and those that the bus starts when they are called, by name.
    package func distributors() async throws(BusError) -> [Distributor] {
        var found: [Distributor] = []
        for name in try await names() where Distributor.isName(name) {
            let text = String(decoding: name, as: UTF8.self)
            let isRunning = try await nameOwner(text) != nil
            found.append(Distributor(name: text, isRunning: isRunning))
        }
        return found.sorted { $0.name < $1.name }
    }
}
