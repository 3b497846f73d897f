import WakeClient
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
    let profile = try Profile(invocation)
    let configuration = try profile.configuration()
    let token = try pushToken(invocation)
    let change = try await setDesired(token, in: profile, configuration)
    return report(change, json: invocation.flag("--json"))
}

let unregisterCommand = Command(
    "unregister", "have the service forget this device; retried until it has",
    options: [.init("--json", "as JSON")] + Profile.options
) { invocation throws(CommandFailure) in
    let profile = try Profile(invocation)
    let configuration = try profile.configuration()
    // Otherwise the distributor's next endpoint would register this device again.
    let unregistration = try DistributorUnregistration(profile, configuration)
    try ProfileFile(profile: profile).setDistributor(nil)
    _ = await unregistration.send()
    let change = try await setDesired(nil, in: profile, configuration)
    return report(change, json: invocation.flag("--json"))
}

/// Reads a push token. Never from the command line, which every user can read (proc(5)).
private func pushToken(_ invocation: Invocation) throws(CommandFailure) -> AppPushToken {
    guard let service = AppPushToken.Service(rawValue: invocation.operands[0]) else {
        throw CommandFailure("the service is apns, apns-sandbox, fcm or webpush", status: .usage)
    }
    var text = try tokenText(invocation)
    defer { text.wipe() }
    do throws(AppPushToken.Fault) {
        return try AppPushToken(service, text: text)
    } catch {
        throw CommandFailure(
            error == .tooLong
                ? "the push token is longer than 508 bytes"
                : "the push token is not of the form its service issues", status: .usage)
    }
}

/// The push token of a file or standard input, without what ends a line.
private func tokenText(_ invocation: Invocation) throws(CommandFailure) -> [UInt8] {
    var text: [UInt8]
    if let path = invocation.value("--file") {
        do throws(FileError) {
            text = try Files.readGiven(path, limit: 4096)
        } catch {
            throw CommandFailure("the token's file cannot be read: \(error.reason)")
        }
    } else {
        text = try Console().input(limit: 4096)
    }
    while let last = text.last, [0x0A, 0x0D, 0x20].contains(last) { text.removeLast() }
    return text
}

/// The registration before a change of what is desired, and after it.
struct RegistrationChange {
    var before: RegistrationState
    var after: RegistrationState
}

/// Registers a token, or unregisters for nil; a running client that holds the profile does it.
func setDesired(
    _ token: AppPushToken?, in profile: Profile, _ configuration: ClientConfiguration
) async throws(CommandFailure) -> RegistrationChange {
    do throws(ClientError) {
        return try await changeRegistration(token, in: profile, configuration)
    } catch {
        // `run` may hold the profile.
        guard error == .locked else { throw CommandFailure(error) }
    }
    do throws(ClientError) {
        let access = try ProfileAccess(configuration)
        let before = try access.registration()
        try access.setDesired(token)
        // The client has been notified; if the service can be reached, the result comes soon.
        for _ in 0..<200 {
            let state = try access.registration()
            if state == .registered || state == .none {
                return RegistrationChange(before: before, after: state)
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return RegistrationChange(before: before, after: try access.registration())
    } catch {
        throw CommandFailure(error)
    }
}

private func changeRegistration(
    _ token: AppPushToken?, in profile: Profile, _ configuration: ClientConfiguration
) async throws(ClientError) -> RegistrationChange {
    let client = try WakeClient(
        configuration, secrets: profile.secrets(), handler: ConsoleHandler(quiet: true))
    let before = await client.status.registration
    let after =
        if let token { try await client.register(token) } else { try await client.unregister() }
    if Report.failure(after) != nil { try await client.dropRefusalWarning() }
    return RegistrationChange(before: before, after: after)
}

func report(_ change: RegistrationChange, json: Bool) -> ExitStatus {
    let state = change.after
    if json {
        Console().out("{\(Report.registration(state))}")
    } else if state == .none {
        Console().out(
            change.before == .none
                ? "nothing was registered"
                : "unregistered: the service holds nothing about this device any more")
    } else {
        Console().out(Report.sentence(state))
    }
    return registrationStatus(state)
}

func registrationStatus(_ state: RegistrationState) -> ExitStatus {
    switch state {
    case .none, .registered, .suspended: return .success
    case .registering(let failure), .unregistering(let failure):
        return failure.map(CommandFailure.status) ?? .transient
    }
}
