import WakeClient
import WakeCommand
import WakeFiles
import WakeUnifiedPush

// What a profile has to do with UnifiedPush: the lines `distributor` and `vapid` of client.conf,
// its own name on the session bus, and the file by which the bus starts it.

extension Profile {
    /// What client.conf says of pushes.
    struct Pushes: Equatable {
        var distributor: String
        var vapid: String?
    }

    /// - Returns: nil when no distributor is chosen.
    func pushes() throws(CommandFailure) -> Pushes? {
        let values = try values()
        guard let distributor = values["distributor"] else { return nil }
        return Pushes(distributor: distributor, vapid: values["vapid"])
    }

    /// Writes a distributor into client.conf, or takes it out. A key of the service that is there
    /// stays; every other line is left as it is.
    func setPushes(_ pushes: Pushes?) throws(CommandFailure) {
        let old = try text()
        let replaced = ["distributor"] + (pushes?.vapid == nil ? [] : ["vapid"])
        var lines = old.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            let name = line.split(separator: "=", maxSplits: 1).first.map { $0.trimmed } ?? ""
            return !replaced.contains(name)
        }.map(String.init)
        while lines.last?.isEmpty == true { lines.removeLast() }
        if let pushes {
            lines.append("distributor = \(pushes.distributor)")
            if let vapid = pushes.vapid { lines.append("vapid = \(vapid)") }
        }
        let new = lines.joined(separator: "\n") + "\n"
        guard new != old else { return }
        do throws(FileError) {
            try Files.replace(configurationFile, with: Array(new.utf8).span)
        } catch {
            throw CommandFailure("client.conf cannot be written: \(error.reason)", status: .ioError)
        }
    }

    static func vapidKey(_ invocation: Invocation) throws(CommandFailure) -> String? {
        guard let text = invocation.value("--vapid") else { return nil }
        guard VAPIDKeyText(Array(text.utf8)) != nil else {
            throw CommandFailure(
                "a VAPID key is 87 characters of base64url",
                hint: "`reveille check` shows the service's public key", status: .usage)
        }
        return text
    }

    /// Brings pushes to a client, if client.conf says who does.
    func connector(
        of client: WakeClient, _ environment: ClientEnvironment
    ) throws(CommandFailure) -> UnifiedPushConnector? {
        guard let pushes = try pushes() else { return nil }
        do throws(UnifiedPushError) {
            return try UnifiedPushConnector(
                client, name: busName, distributor: pushes.distributor,
                description: "Reveille: wake-ups without content", vapidKey: pushes.vapid,
                environment: environment)
        } catch {
            throw failure("names no distributor, or a key that is none")
        }
    }

    // MARK: On the bus

    /// The profile by name, when it is where named profiles lie.
    private var name: String? {
        guard let base = try? Self.stateBase(), stateDirectory.hasPrefix(base + "/") else {
            return nil
        }
        let name = String(stateDirectory.dropFirst(base.utf8.count + 1))
        return Self.isName(name) ? name : nil
    }

    /// This profile's name on the session bus: one for each, and the same at every start.
    var busName: String {
        let prefix = "org.reveille.Client."
        if let name { return prefix + "profile_" + name }
        // FNV-1a: only has to tell the directories of one person apart.
        let path = (try? Files.resolve(stateDirectory)) ?? stateDirectory
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return prefix + "state_" + String(hash, radix: 16)
    }

    /// The options that lead back to this profile.
    var words: [String] { name.map { ["--profile", $0] } ?? ["--state", stateDirectory] }

    /// Where the bus looks for the file by which it starts this profile's client.
    func activationPath() throws(CommandFailure) -> String {
        ActivationFile.path(for: busName, data: try Self.base("XDG_DATA_HOME", ".local/share"))
    }
}

extension WakeClient {
    /// Runs, woken by pushes as well. Pushes end with the client, never the other way round.
    func run(beside pushes: UnifiedPushConnector?) async throws(ClientError) {
        guard let pushes else { return try await run() }
        let end = await withTaskGroup(of: Result<Void, ClientError>?.self) { group in
            group.addTask {
                await pushes.run()
                return nil
            }
            group.addTask {
                do throws(ClientError) {
                    return .success(try await self.run())
                } catch {
                    return .failure(error)
                }
            }
            for await end in group {
                guard let end else { continue }
                group.cancelAll()
                return end
            }
            return .success(())
        }
        try end.get()
    }
}
