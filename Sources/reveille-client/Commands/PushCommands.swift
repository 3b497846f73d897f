import Reveille
import WakeCommand
import WakeSystem
import WakeUnifiedPush

let pushListCommand = Command(
    "push list", "the UnifiedPush distributors of this desktop",
    options: [.init("--json", "as JSON")]
) { invocation throws(CommandFailure) in
    let found = try await distributors()
    if invocation.flag("--json") {
        let items = found.map { "{\"name\":\"\($0.name)\",\"running\":\($0.isRunning)}" }
        Console().out("[\(items.joined(separator: ","))]")
    } else if found.isEmpty {
        Console().out("no UnifiedPush distributor is installed")
    } else {
        for distributor in found {
            let note = distributor.isRunning ? "" : "  (started when it is needed)"
            Console().out(distributor.name + note)
        }
    }
    return .success
}

let pushUseCommand = Command(
    "push use", "have a UnifiedPush distributor wake this client",
    operands: [.init("NAME", "as `push list` shows it, or its last word", .optional)],
    options: deliveryOptions + [
        .init("--unit", value: "UNIT", "a systemd user unit that a push starts instead"),
        .init("--vapid", value: "KEY", "the service's public key for Web Push"),
    ] + Profile.options,
    examples: [
        "reveille-client push use kde --unit reveille-client.service",
        "reveille-client push use org.unifiedpush.Distributor.kde --notify",
    ],
    notes: """
        A push reaches a client that runs, which takes up the choice at once. With --unit,
        or a way to report matches (--on-match, --notify), a push also starts one that
        does not.
        """
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    guard configuration.service != nil else {
        throw CommandFailure(.configuration(.serviceMissing))
    }
    let distributor = try choose(invocation.operands.first, among: try await distributors())
    let vapid = try ProfilePushes.vapidKey(invocation)
    try ProfileFile(profile: profile).setDistributor(distributor.name, vapid: vapid)
    let isStarted = try writeActivation(profile, invocation)
    if isStarted, let bus = try? await BusConnection.session() {
        // If this fails: the bus looks by itself, some time.
        try? await bus.reloadServices()
        bus.close()
    }
    let outcome = try await firstRegistration(profile, configuration)
    Console().out("\(distributor.name): \(outcome.text)")
    if !isStarted {
        Console().error(
            "hint: pushes reach this client only while `run` runs; --unit, --on-match or"
                + " --notify has them start it")
    }
    return outcome.status
}

let pushOffCommand = Command(
    "push off", "give the distributor up, and have the service forget this device",
    options: [.init("--json", "as JSON")] + Profile.options
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    let isInformed = try await leaveDistributor(profile, configuration)
    if !isInformed {
        Console().error(
            "reveille-client: the distributor cannot be reached; it may show this client until"
                + " it is removed there")
    }
    return try await changeRegistration(to: nil, profile, configuration, invocation)
}

/// Unregisters from the distributor; false when it could not be informed.
func leaveDistributor(
    _ profile: Profile, _ configuration: ClientConfiguration
) async throws(CommandFailure) -> Bool {
    let unregistration = try DistributorUnregistration(profile, configuration)
    try ProfileFile(profile: profile).setDistributor(nil)
    return await unregistration.send()
}

private func distributors() async throws(CommandFailure) -> [Distributor] {
    do throws(UnifiedPushError) {
        return try await UnifiedPushConnector.distributors()
    } catch {
        throw CommandFailure(
            "there is no session bus",
            hint: "pushes come by the user's desktop session; without one, `run` is woken by the"
                + " event stream", status: .transient)
    }
}

private func choose(
    _ name: String?, among found: [Distributor]
) throws(CommandFailure) -> Distributor {
    if let name {
        let wanted = found.first {
            $0.name == name || $0.name == "org.unifiedpush.Distributor." + name
        }
        if let wanted { return wanted }
        throw CommandFailure(
            "there is no distributor of this name", hint: "`push list` shows those there are")
    }
    switch found.count {
    case 1: return found[0]
    case 0:
        throw CommandFailure(
            "no UnifiedPush distributor is installed",
            hint: "unifiedpush.org/users/distributors lists them; without one, `run` is woken by"
                + " the event stream")
    default:
        // UnifiedPush D-Bus 0.3.0, "Choosing a distributor": the person chooses.
        throw .usage(
            "there are several distributors",
            hint: "name one of " + found.map(\.name).joined(separator: ", "))
    }
}

/// - Returns: whether a push starts the client.
private func writeActivation(
    _ profile: Profile, _ invocation: Invocation
) throws(CommandFailure) -> Bool {
    let unit = invocation.value("--unit")
    var delivery: [String] = []
    for option in deliveryOptions {
        guard let value = invocation.value(option.name) else { continue }
        delivery += option.value == nil ? [option.name] : [option.name, value]
    }
    let pushes = ProfilePushes(profile: profile)
    let path = try pushes.activationPath()
    // Otherwise its matches would go to a standard output that nobody reads.
    let isReported = delivery.contains { ["--on-match", "--notify", "--notify-note"].contains($0) }
    guard unit != nil || isReported else {
        try? ActivationFile.remove(path)
        return false
    }
    do throws(FileError) {
        let program = try Files.resolve("/proc/self/exe")
        let file = ActivationFile(
            name: pushes.busName, command: [program, "run"] + pushes.options + delivery, unit: unit)
        try file.write(to: path)
    } catch {
        let reason = error.exists ? "another program's file is there" : error.reason
        throw CommandFailure(
            "the file by which the bus starts this client cannot be written: \(reason)",
            status: .ioError)
    }
    return true
}

/// Registers once, so that the user sees at once whether it works.
private func firstRegistration(
    _ profile: Profile, _ configuration: ClientConfiguration
) async throws(CommandFailure) -> (text: String, status: ExitStatus) {
    let client: WakeClient
    do throws(ClientError) {
        client = try profile.client(configuration)
    } catch {
        guard error == .locked else { throw CommandFailure(error) }
        return try await mapClientError { () async throws(ClientError) in
            try await registrationByRunningClient(profile, configuration)
        }
    }
    guard let connector = try ProfilePushes(profile: profile).connector(of: client, .live) else {
        return ("not chosen", .failure)
    }
    if let status = await failure(of: connector) {
        var reason = "it brings no pushes yet"
        if case .failing(let trouble) = status { reason = Report.distributor(trouble) }
        return ("chosen, but \(reason); run keeps trying", .transient)
    }
    _ = try await mapClientError { () async throws(ClientError) in try await client.reconcile() }
    let state = await client.status.registration
    return (Report.sentence(state), registrationStatus(state))
}

/// Has the running client register with the chosen distributor, and waits for the service to have
/// its endpoint.
private func registrationByRunningClient(
    _ profile: Profile, _ configuration: ClientConfiguration
) async throws(ClientError) -> (text: String, status: ExitStatus) {
    let access = try ProfileAccess(configuration)
    let chosen = try? ProfileFile(profile: profile).values()["distributor"]
    let wasChosen = try access.distributor()?.name == chosen
    let former = try access.registrationRevision()
    access.notify()
    for _ in 0..<200 {
        let state = try access.registration()
        let isOfPushes = try access.pushService() == .webPush
        let revision = try access.registrationRevision()
        if try access.distributor()?.name == chosen, wasChosen || revision != former,
            isOfPushes, state == .registered
        {
            return (Report.sentence(state), .success)
        }
        try? await Task.sleep(for: .milliseconds(50))
    }
    return ("chosen; the client that runs registers with it, see push status", .transient)
}

/// Waits half a minute for a registration with the distributor.
/// - Returns: nil when there is one, else its last status.
private func failure(of connector: UnifiedPushConnector) async -> UnifiedPushStatus? {
    await withTaskGroup(of: Void.self) { group in
        group.addTask { await connector.run() }
        defer { group.cancelAll() }
        var status = await connector.status
        for _ in 0..<600 {
            status = await connector.status
            switch status {
            case .registered: return nil
            case .failing, .givenUp: return status
            case .stopped, .noBus, .nameTaken, .registering: break
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return status
    }
}

let pushStatusCommand = Command(
    "push status", "whether pushes reach this client",
    options: [.init("--json", "as JSON")] + Profile.options
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    let status = try await PushStatus(profile, configuration)
    Console().out(invocation.flag("--json") ? status.json : status.text)
    return .success
}
