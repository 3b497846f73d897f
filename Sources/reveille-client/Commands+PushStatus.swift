import WakeClient
import WakeCommand

let pushStatusCommand = Command(
    "push status", "whether pushes reach this client",
    options: [.init("--json", "as JSON")] + Profile.options
) { invocation throws(CommandFailure) in
    let profile = try Profile(invocation)
    let configuration = try profile.configuration()
    let status = try await PushStatus(profile, configuration)
    Console().out(invocation.flag("--json") ? status.json : status.text)
    return .success
}
