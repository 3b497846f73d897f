import Reveille
import WakeCommand
import WakeModel
import WakeSystem

let registerCommand = Command(
    "register", "register a push token, read from standard input, with the service",
    operands: [
        .init(
            "SERVICE", "apns, apns-sandbox, fcm or webpush",
            completion: .choice(AppPushToken.Service.allCases.map(\.rawValue)))
    ],
    options: [
        .init("--file", value: "PATH", "read the token from this file instead"),
        .init("--json", "as JSON"),
    ] + Profile.options,
    examples: [
        "reveille-client register webpush < endpoint.txt",
        "reveille-client register fcm --file token.txt",
    ]
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    let token = try pushToken(invocation)
    return try await changeRegistration(to: token, profile, configuration, invocation)
}

let unregisterCommand = Command(
    "unregister", "have the service forget this device; retried until it has",
    options: [.init("--json", "as JSON")] + Profile.options
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    // Otherwise the distributor's next endpoint would register this device again.
    _ = try await leaveDistributor(profile, configuration)
    return try await changeRegistration(to: nil, profile, configuration, invocation)
}

/// Reads a push token. Never from the command line, which every user can read (proc(5)).
private func pushToken(_ invocation: Invocation) throws(CommandFailure) -> AppPushToken {
    guard let service = AppPushToken.Service(rawValue: invocation.operands[0]) else {
        throw .usage("the service is apns, apns-sandbox, fcm or webpush")
    }
    var text = try tokenText(invocation)
    defer { text.wipe() }
    do throws(AppPushToken.Fault) {
        return try AppPushToken(service, text: text)
    } catch {
        throw .usage(error.phrase)
    }
}

/// The push token of a file or standard input, without what ends a line.
private func tokenText(_ invocation: Invocation) throws(CommandFailure) -> [UInt8] {
    var text: [UInt8]
    if let path = invocation.value("--file") {
        let unreadable = "the token's file cannot be read"
        text = try mapError({ CommandFailure(unreadable, $0) }) { () throws(FileError) in
            try Files.readGiven(path, limit: 4096)
        }
    } else {
        text = try Console().input(limit: 4096)
    }
    while let last = text.last, [0x0A, 0x0D, 0x20].contains(last) { text.removeLast() }
    return text
}

/// Registers a token (nil: unregisters), through a running client if there is one, and reports it.
func changeRegistration(
    to token: AppPushToken?, _ profile: Profile, _ configuration: ClientConfiguration,
    _ invocation: Invocation
) async throws(CommandFailure) -> ExitStatus {
    let before: RegistrationState
    let after: RegistrationState
    do throws(ClientError) {
        (before, after) = try await changeHere(to: token, profile, configuration)
    } catch {
        // `run` may hold the profile.
        guard error == .locked else { throw CommandFailure(error) }
        (before, after) = try await mapClientError { () async throws(ClientError) in
            try await changeByRunningClient(to: token, configuration)
        }
    }
    if invocation.flag("--json") {
        Console().out("{\(Report.registration(after))}")
    } else if after == .none {
        Console().out(
            before == .none
                ? "nothing was registered"
                : "unregistered: the service holds nothing about this device any more")
    } else {
        Console().out(Report.sentence(after))
    }
    return registrationStatus(after)
}

private func changeHere(
    to token: AppPushToken?, _ profile: Profile, _ configuration: ClientConfiguration
) async throws(ClientError) -> (RegistrationState, RegistrationState) {
    let client = try profile.client(configuration)
    let before = await client.status.registration
    let after =
        if let token { try await client.register(token) } else { try await client.unregister() }
    if after.failure != nil { try await client.dropRefusalWarning() }
    return (before, after)
}

private func changeByRunningClient(
    to token: AppPushToken?, _ configuration: ClientConfiguration
) async throws(ClientError) -> (RegistrationState, RegistrationState) {
    let access = try ProfileAccess(configuration)
    let before = try access.registration()
    try access.setDesired(token)
    // The client has been notified; if the service can be reached, the result comes soon.
    for _ in 0..<200 {
        let state = try access.registration()
        if state == .registered || state == .none { return (before, state) }
        try? await Task.sleep(for: .milliseconds(50))
    }
    return (before, try access.registration())
}

func registrationStatus(_ state: RegistrationState) -> ExitStatus {
    switch state {
    case .none, .registered, .suspended: return .success
    case .proving: return .transient
    case .registering(let failure), .unregistering(let failure):
        return failure.map { CommandFailure($0).status } ?? .transient
    }
}
