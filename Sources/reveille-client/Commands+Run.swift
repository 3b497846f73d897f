import Synchronization
import WakeClient
import WakeCommand

let tellingOptions: [Command.Option] = [
    .init("--on-match", value: "CMD", "run this for every match, without a shell"),
    .init("--on-warning", value: "CMD", "run this for every warning, without a shell"),
]

let runCommand = Command(
    "run", "listen, poll and tell until SIGTERM",
    options: tellingOptions + [.init("--verbose", "say on standard error what happens")]
        + Profile.options,
    examples: [
        "reveille-client run --on-match /usr/local/bin/tell-me",
        "systemd-run --user -p Type=notify reveille-client run",
    ]
) { invocation throws(CommandFailure) in
    let profile = try Profile(invocation)
    let configuration = try profile.configuration()
    var environment = ClientEnvironment.live
    if invocation.flag("--verbose") {
        environment.log = { Console().error("reveille-client: \($0.line)") }
    }
    let handler = ConsoleHandler(
        onMatch: invocation.value("--on-match"), onWarning: invocation.value("--on-warning"))
    let client: WakeClient
    do throws(ClientError) {
        client = try WakeClient(
            configuration, secrets: profile.secrets(), handler: handler,
            environment: environment)
    } catch {
        throw CommandFailure(error)
    }
    let pushes = try profile.connector(of: client, environment)
    let end = RunEnd()
    await TerminationSignal.cancels {
        Supervisor.notifyReady()
        do throws(ClientError) {
            try await client.run(beside: pushes)
        } catch {
            end.failure.withLock { $0 = error }
        }
    }
    let failure = end.failure.withLock { $0 }
    if let failure { throw CommandFailure(failure) }
    return .success
}

/// How `run` came to its end, when not by a signal.
private final class RunEnd: Sendable {
    let failure = Mutex<ClientError?>(nil)
}

extension ClientEvent {
    /// Words and numbers alone: no case has a place for anything else.
    fileprivate var line: String {
        switch self {
        case .started: "started"
        case .stopped: "stopped"
        case .streamConnected: "stream connected"
        case .streamEnded(let seconds): "stream ended, retry in \(seconds) s"
        case .cycleBegan: "cycle began"
        case .cycleEnded(let batches): "cycle ended, \(batches) batches"
        case .cycleFailed(let error, let seconds):
            "cycle failed: \(error.code), retry in \(seconds) s"
        case .registered: "registered"
        case .unregistered: "unregistered"
        case .registrationFailed(let error, let seconds):
            "registration failed: \(error.code), retry in \(seconds) s"
        case .busConnected: "on the session bus"
        case .busLost(let seconds): "no session bus, retry in \(seconds) s"
        case .pushesStand: "the distributor brings pushes"
        case .pushReceived: "push"
        case .tellingFailed(let seconds): "telling failed, retry in \(seconds) s"
        }
    }
}
