import WakeClient
import WakeCommand

let registerCommand = Command(
    "register", "leave a push token with the service; the token comes from standard input",
    operands: [
        .init(
            "SERVICE", "apns, apns-sandbox, fcm or webpush",
            completion: .choice(PushToken.Service.allCases.map(\.rawValue)))
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
    let change = try await wish(try pushToken(invocation), in: profile, configuration)
    return report(change, json: invocation.flag("--json"))
}

let unregisterCommand = Command(
    "unregister", "have the service forget this device; kept up until it did",
    options: [.init("--json", "as JSON")] + Profile.options
) { invocation throws(CommandFailure) in
    let profile = try Profile(invocation)
    let configuration = try profile.configuration()
    // Whoever is not to be registered is not to be registered again by the next endpoint.
    let farewell = try PushFarewell(profile, configuration)
    try profile.setPushes(nil)
    _ = await farewell.say()
    let change = try await wish(nil, in: profile, configuration)
    return report(change, json: invocation.flag("--json"))
}

/// Never from the command line: what stands there, everybody on the machine can read (proc(5)).
private func pushToken(_ invocation: Invocation) throws(CommandFailure) -> PushToken {
    guard let service = PushToken.Service(rawValue: invocation.operands[0]) else {
        throw CommandFailure(
            "the service is apns, apns-sandbox, fcm or webpush", status: .usage)
    }
    let input = try TokenInput(invocation)
    do throws(PushToken.Fault) {
        return try input.lend { (text) throws(PushToken.Fault) in
            try PushToken(service, text: text)
        }
    } catch {
        throw CommandFailure(
            error == .tooLong
                ? "the push token is longer than 508 bytes"
                : "the push token is not of the form its service issues", status: .usage)
    }
}

/// The registration before a wish and after it.
struct Change {
    var before: RegistrationState
    var after: RegistrationState
}

/// Brings a wish about, or leaves it to the client that holds the profile.
func wish(
    _ token: PushToken?, in profile: Profile, _ configuration: ClientConfiguration
) async throws(CommandFailure) -> Change {
    do throws(ClientError) {
        return try await wishAlone(token, in: profile, configuration)
    } catch {
        // `run` may hold the profile.
        guard error == .locked else { throw CommandFailure(error) }
    }
    do throws(ClientError) {
        let visit = try ProfileVisit(configuration)
        let before = try visit.registration()
        try visit.leave(token)
        // It was rung at; what it comes to shows within moments if the service can be reached.
        for _ in 0..<200 {
            let state = try visit.registration()
            if state == .registered || state == .none {
                return Change(before: before, after: state)
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return Change(before: before, after: try visit.registration())
    } catch {
        throw CommandFailure(error)
    }
}

private func wishAlone(
    _ token: PushToken?, in profile: Profile, _ configuration: ClientConfiguration
) async throws(ClientError) -> Change {
    let client = try WakeClient(
        configuration, secrets: profile.secrets(), handler: ConsoleHandler(quiet: true))
    let before = await client.status.registration
    let after =
        if let token { try await client.register(token) } else { try await client.unregister() }
    if Report.failure(after) != nil { try await client.dropRefusalWarning() }
    return Change(before: before, after: after)
}

func report(_ change: Change, json: Bool) -> ExitStatus {
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
