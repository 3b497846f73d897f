import Synchronization
import WakeClient
import WakeCommand
import WakeUnifiedPush

let tellingOptions: [Command.Option] =
    [
        .init("--on-match", value: "CMD", "run this for every match, without a shell"),
        .init("--on-warning", value: "CMD", "run this for every warning, without a shell"),
    ] + DesktopNotification.options

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
    let isVerbose = invocation.flag("--verbose")
    var environment = ClientEnvironment.live
    environment.log = { event in
        event.tellSupervisor()
        if isVerbose { Console().error("reveille-client: \(event.line)") }
    }
    let handler = ConsoleHandler(
        onMatch: invocation.value("--on-match"), onWarning: invocation.value("--on-warning"),
        desktop: DesktopNotification(invocation))
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
        await withTaskCancellationHandler {
            await run(client, beside: pushes, end)
        } onCancel: {
            Supervisor.notifyStopping()
        }
    }
    let failure = end.failure.withLock { $0 }
    if let failure { throw CommandFailure(failure) }
    return .success
}

private func run(
    _ client: WakeClient, beside pushes: UnifiedPushConnector?, _ end: RunEnd
) async {
    await withTaskGroup(of: Void.self) { group in
        group.addTask {
            do throws(ClientError) {
                try await client.run(beside: pushes)
            } catch {
                end.failure.withLock { $0 = error }
            }
        }
        if StartingBus.isThere {
            group.addTask { await StartingBus.ends() }
        }
        if let interval = Supervisor.watchdog {
            group.addTask { await prove(client, every: interval) }
        }
        await group.next()
        group.cancelAll()
    }
}

/// Tells the service manager that the client lives, each time when the client itself has answered
/// on its own queue and from its state: a wedged one says nothing and is started anew.
private func prove(_ client: WakeClient, every interval: Duration) async {
    while !Task.isCancelled {
        _ = await client.status
        Supervisor.notifyAlive()
        try? await Task.sleep(for: interval)
    }
}

/// How `run` came to its end, when not by a signal.
private final class RunEnd: Sendable {
    let failure = Mutex<ClientError?>(nil)
}

extension ClientEvent {
    /// Ready is who holds the profile and has begun to listen: a stream that does not stand yet
    /// is tried again, with polling underneath.
    fileprivate func tellSupervisor() {
        switch self {
        case .started:
            Supervisor.notifyReady()
            Supervisor.notify(status: line)
        case .stopped: break
        default: Supervisor.notify(status: line)
        }
    }

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
        case .keptBatchesDamaged(let count):
            "\(count) damaged batches dropped, later secrets are not checked against them"
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
