import Reveille
import Synchronization
import WakeFeed
import WakeModel
import WakeSystem
import WakeUnifiedPush

/// A profile's object on the session bus: `org.reveille.Client1` at a path of the profile's own.
///
/// Each profile has a process, and a name can have one owner: each owns a name of its own, the
/// default profile `org.reveille.Client1` as well. Signals go to every program of the session.
final class BusInterface: EventSink {
    static let interface = "org.reveille.Client1"
    private static let rootPath = "/org/reveille/Client1"

    private struct State {
        var connection: BusConnection?
        var status = BusValue.options([])
    }

    private let names: [String]
    private let path: String
    private let state = Mutex(State())

    init(_ profile: ProfilePushes) {
        let word = profile.busWord
        let isDefault = word == "profile_default"
        names = [Self.interface + "." + word] + (isDefault ? [Self.interface] : [])
        // A path has neither hyphens nor other marks (D-Bus Specification, "Valid Object Paths").
        path = Self.rootPath + "/" + word.replacing("-", with: "_2d")
    }

    private var object: BusObject {
        BusObject(
            path: path, interface: Self.interface,
            methods: [.init("Sync", ""), .init("Acknowledge", "s")],
            properties: [
                .init("Status", "a{sv}") { [self] in state.withLock { $0.status } }
            ],
            signals: [("Match", "ssay"), ("Warning", "ss")])
    }

    // MARK: Signals

    func publish(_ match: Match) -> Bool {
        send(
            .signal(
                path: path, interface: Self.interface, member: "Match",
                [.string(match.id.text), .string(match.secretID), .bytes(match.noteBytes ?? [])]))
    }

    func publish(_ warning: Warning) {
        _ = send(
            .signal(
                path: path, interface: Self.interface, member: "Warning",
                [.string(warning.code), .string(warning.phrase)]))
    }

    func publish(_ status: ClientStatus) {
        let entries = status.members.compactMap { name, value -> (String, BusValue)? in
            switch value {
            case .word(let word): (name, .string(word))
            case .number(let number): (name, .int64(number))
            case .flag(let flag): (name, .boolean(flag))
            case .null: nil
            }
        }
        state.withLock { $0.status = .options(entries) }
        _ = send(object.propertiesChanged)
    }

    /// - Returns: false when there is no bus.
    private func send(_ message: BusMessage) -> Bool {
        guard let connection = state.withLock({ $0.connection }) else { return false }
        return (try? connection.send(message)) != nil
    }

    // MARK: Connection

    /// Serves the object until the task is cancelled, on one connection after the other.
    func run(
        for client: WakeClient, acknowledge: @Sendable (MatchID) async -> Bool
    ) async {
        let environment = ClientEnvironment.live
        var failures = 0
        while !Task.isCancelled {
            let start = environment.uptime()
            do throws(BusError) {
                try await serve(client, acknowledge)
            } catch {
                // No bus, no connection, or the name has another owner: tried again.
            }
            state.withLock { $0.connection = nil }
            failures = environment.uptime() - start >= .seconds(60) ? 1 : failures + 1
            let pause = Backoff.bus.delay(failures: failures, random: environment.randomUnit())
            await environment.sleep(pause)
        }
    }

    private func serve(
        _ client: WakeClient, _ acknowledge: (MatchID) async -> Bool
    ) async throws(BusError) {
        let bus = try await BusConnection.session(serving: [object])
        defer { bus.close() }
        for name in names {
            guard try await bus.requestName(name) else { throw .closed }
        }
        state.withLock { $0.connection = bus }
        // Of what was found without a bus nobody has heard.
        try? await client.retryDeliveries()
        for await call in bus.messages where call.kind == .call {
            try await answer(call, on: bus, client, acknowledge)
        }
    }

    private func answer(
        _ call: BusMessage, on bus: BusConnection, _ client: WakeClient,
        _ acknowledge: (MatchID) async -> Bool
    ) async throws(BusError) {
        // The dispatcher passes on the two methods alone.
        guard case .string(let text)? = call.body.first else {
            // What others missed is published again; the outcome of the check shows in Status.
            try? await client.retryDeliveries()
            client.wake(.manual)
            return try bus.reply(to: call)
        }
        guard let bytes = Hex.decode(text.span), let id = MatchID(bytes: bytes),
            await acknowledge(id)
        else { return try bus.refuse(call, .invalidArguments) }
        try bus.reply(to: call)
    }
}
