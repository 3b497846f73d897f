import Reveille
import WakeCommand
import WakeSystem
import WakeUnifiedPush

/// A profile's distributor, its name on the session bus, and the file by which the bus starts it.
struct ProfilePushes {
    let profile: Profile

    static func vapidKey(_ invocation: Invocation) throws(CommandFailure) -> String? {
        guard let text = invocation.value("--vapid") else { return nil }
        guard VAPIDKeyText(Array(text.utf8)) != nil else {
            throw .usage(
                "a VAPID key is 87 characters of base64url",
                hint: "`reveille check` shows the service's public key")
        }
        return text
    }

    /// The connector that delivers pushes to a client; nil when no distributor is chosen.
    func connector(
        of client: WakeClient, _ environment: ClientEnvironment
    ) throws(CommandFailure) -> UnifiedPushConnector? {
        let values = try ProfileFile(profile: profile).values()
        guard let distributor = values["distributor"] else { return nil }
        let failure = ProfileFile.failure("names no distributor, or a key that is none")
        return try mapError({ _ in failure }) { () throws(UnifiedPushError) in
            try UnifiedPushConnector(
                client, name: busName, distributor: distributor,
                description: "Reveille: wake-ups without content", vapidKey: values["vapid"],
                environment: environment)
        }
    }

    /// Delivers the pushes of the distributor that `client.conf` names, also of one that is chosen
    /// meanwhile, until the task is cancelled.
    func run(_ client: WakeClient, _ environment: ClientEnvironment) async {
        while !Task.isCancelled {
            let chosen = chosen
            let connector = try? connector(of: client, environment)
            await withTaskGroup(of: Void.self) { group in
                if let connector { group.addTask { await connector.run() } }
                var isInForce = true
                while isInForce, !Task.isCancelled {
                    await client.profileChange.wait()
                    let isGivenUp = await connector?.status == .givenUp
                    isInForce = self.chosen == chosen && !isGivenUp
                }
                group.cancelAll()
            }
        }
    }

    /// The lines that a connector is made from; nil when they cannot be read.
    private var chosen: [String?]? {
        (try? ProfileFile(profile: profile).values()).map { [$0["distributor"], $0["vapid"]] }
    }

    /// The profile's name when it lies among the named profiles.
    private var name: String? {
        let directory = profile.stateDirectory
        guard let base = try? Profile.stateBase(), directory.hasPrefix(base + "/") else {
            return nil
        }
        let name = String(directory.dropFirst(base.utf8.count + 1))
        return Profile.isName(name) ? name : nil
    }

    /// This profile's name on the session bus: one for each, and the same at every start.
    var busName: String { "org.reveille.Client." + busWord }

    /// The profile's word in names on the session bus.
    var busWord: String {
        if let name { return "profile_" + name }
        // FNV-1a: distinguishes the directories of one person, no more.
        let path = (try? Files.resolve(profile.stateDirectory)) ?? profile.stateDirectory
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return "state_" + String(hash, radix: 16)
    }

    /// The options that select this profile.
    var options: [String] {
        name.map { ["--profile", $0] } ?? ["--state", profile.stateDirectory]
    }

    /// The path of the file by which the bus starts this profile's client.
    func activationPath() throws(CommandFailure) -> String {
        ActivationFile.path(for: busName, data: try Profile.base("XDG_DATA_HOME", ".local/share"))
    }
}

/// Unregisters from a distributor. Its record is read first: leaving the service wipes it.
struct DistributorUnregistration {
    private let record: DistributorRecord?
    /// Nil without a home directory: the bus has none to find the file in.
    private let activation: String?

    init(_ profile: Profile, _ configuration: ClientConfiguration) throws(CommandFailure) {
        activation = try? ProfilePushes(profile: profile).activationPath()
        record = try mapError(CommandFailure.init) { () throws(ClientError) in
            try ProfileAccess(configuration).distributor()
        }
    }

    /// - Returns: false when the distributor could not be informed. One that is gone need not be.
    func send() async -> Bool {
        if let activation { try? ActivationFile.remove(activation) }
        do throws(BusError) {
            let bus = try await BusConnection.session()
            defer { bus.close() }
            try? await bus.reloadServices()
            if let record { try await bus.unregister(record) }
            return true
        } catch {
            return record == nil
        }
    }
}

extension BusConnection {
    /// Has the bus read its folders again: it may not have noticed a new file.
    func reloadServices() async throws(BusError) {
        let bus = "org.freedesktop.DBus"
        _ = try await call(
            .call(bus, path: "/org/freedesktop/DBus", interface: bus, member: "ReloadConfig"))
    }
}
