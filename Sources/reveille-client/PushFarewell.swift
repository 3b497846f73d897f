import WakeBus
import WakeClient
import WakeCommand
import WakeUnifiedPush

/// Gives a distributor up: what must be known is read first, since unregistering wipes it.
struct PushFarewell {
    private let record: DistributorRecord?
    private let activation: String

    init(
        _ profile: Profile, _ configuration: ClientConfiguration
    ) throws(CommandFailure) {
        activation = try profile.activationPath()
        do throws(ClientError) {
            record = try ProfileVisit(configuration).distributor()
        } catch {
            throw CommandFailure(error)
        }
    }

    /// - Returns: whether the distributor was told. One that is not there any more need not be.
    func say() async -> Bool {
        try? ActivationFile.remove(activation)
        do throws(BusError) {
            let bus = try await BusConnection.session()
            defer { bus.close() }
            try? await bus.reloadServices()
            guard let record else { return true }
            try await bus.unregister(record)
            return true
        } catch {
            return record == nil
        }
    }
}

extension BusConnection {
    /// Has the bus look at its folders again: it may not have noticed a new one.
    func reloadServices() async throws(BusError) {
        let bus = "org.freedesktop.DBus"
        _ = try await call(
            .call(bus, path: "/org/freedesktop/DBus", interface: bus, member: "ReloadConfig"))
    }
}
