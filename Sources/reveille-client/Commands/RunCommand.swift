import Reveille
import Synchronization
import WakeCommand
import WakeSystem
import WakeUnifiedPush

let deliveryOptions: [Command.Option] =
    [
        .init("--on-match", value: "CMD", "run this for every match, without a shell"),
        .init("--on-warning", value: "CMD", "run this for every warning, without a shell"),
    ] + DesktopNotification.options

let runCommand = Command(
    "run", "listen, poll and report matches until SIGTERM",
    options: deliveryOptions + EventPublisher.options + [
        .init("--verbose", "log events on standard error")
    ]
        + Profile.options,
    examples: [
        "reveille-client run --on-match /usr/local/bin/on-match",
        "systemd-run --user -p Type=notify reveille-client run",
    ],
    notes: """
        With --json or --dbus one match is out at a time: the next one follows when it is
        acknowledged, or after 30 s, when it is kept and comes again later.
        """
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    let isVerbose = invocation.flag("--verbose")
    var environment = ClientEnvironment.live
    environment.log = { event in
        event.notifyServiceManager()
        if isVerbose { Console().error("reveille-client: \(event.line)") }
    }
    let publisher = EventPublisher(invocation, profile)
    let handler = ConsoleHandler(
        onMatch: invocation.value("--on-match"), onWarning: invocation.value("--on-warning"),
        desktop: DesktopNotification(invocation), quiet: publisher != nil, publisher: publisher)
    try handler.checkPrograms()
    let client = try mapError(CommandFailure.init) { () throws(ClientError) in
        try profile.client(configuration, handler: handler, environment: environment)
    }
    let distributor = ProfilePushes(profile: profile)
    _ = try distributor.connector(of: client, environment)
    let pushes = { @Sendable [environment] in await distributor.run(client, environment) }
    let end = RunEnd()
    await TerminationSignal.cancels {
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                if let publisher {
                    group.addTask { await publisher.run(for: client) }
                }
                group.addTask { await run(client, end, beside: pushes) }
                await group.next()
                group.cancelAll()
            }
        } onCancel: {
            ServiceManager.notify(.stopping)
        }
    }
    let failure = end.failure.withLock { $0 }
    if let failure { throw CommandFailure(failure) }
    if publisher?.hasLostReader == true {
        throw CommandFailure("standard output cannot be written", status: .ioError)
    }
    return .success
}

/// Runs the client until it ends, is cancelled or loses the bus that started it. Pushes end with
/// the client, never the client with them.
private func run(
    _ client: WakeClient, _ end: RunEnd, beside pushes: @escaping @Sendable () async -> Void
) async {
    await withTaskGroup(of: Void.self) { group in
        group.addTask {
            await withTaskGroup(of: Void.self) { inner in
                inner.addTask { await pushes() }
                do throws(ClientError) {
                    try await client.run()
                } catch {
                    end.failure.withLock { $0 = error }
                }
                inner.cancelAll()
            }
        }
        if BusActivation.isPresent { group.addTask { await BusActivation.waitForEnd() } }
        if let interval = ServiceManager.watchdog {
            group.addTask { await notifyWatchdog(client, every: interval) }
        }
        await group.next()
        group.cancelAll()
    }
}

/// Notifies the service manager's watchdog, which restarts a client that does not answer.
private func notifyWatchdog(_ client: WakeClient, every interval: Duration) async {
    while !Task.isCancelled {
        _ = await client.status
        ServiceManager.notify(.alive)
        await SystemClock.sleep(for: interval)
    }
}

/// The failure that ended `run`, if no signal did.
private final class RunEnd: Sendable {
    let failure = Mutex<ClientError?>(nil)
}

extension ClientLogEvent {
    /// Ready: the profile is locked and listening has begun; the stream may still be retried.
    fileprivate func notifyServiceManager() {
        switch self {
        case .started:
            ServiceManager.notify(.ready)
            ServiceManager.notify(status: line)
        case .stopped: break
        default: ServiceManager.notify(status: line)
        }
    }

    /// Fixed words and numbers.
    fileprivate var line: String {
        switch self {
        case .started: "started"
        case .stopped: "stopped"
        case .streamConnected: "stream connected"
        case .streamEnded(let seconds): "stream ended, retry in \(seconds) s"
        case .streamSilent(let seconds):
            "stream accepted but kept back on the way, retry in \(seconds) s"
        case .cycleBegan: "cycle began"
        case .cycleEnded(let batches): "cycle ended, \(batches) batches"
        case .cycleFailed(let error, let seconds):
            "cycle failed: \(error.code), retry in \(seconds) s"
        case .keptBatchesDamaged(let count):
            "\(count) damaged batches dropped, later secrets are not checked against them"
        case .registered: "registered"
        case .unregistered: "unregistered"
        case .registrationProof(let bits): "registration: \(bits) bits of work to prove"
        case .registrationFailed(let error, let seconds):
            "registration failed: \(error.code), retry in \(seconds) s"
        case .busConnected: "on the session bus"
        case .busLost(let seconds): "no session bus, retry in \(seconds) s"
        case .pushesRegistered: "the distributor brings pushes"
        case .pushReceived: "push"
        case .deliveryFailed(let seconds): "delivery failed, retry in \(seconds) s"
        }
    }
}

/// The session bus that started this program for a message. The client ends with that bus: in the
/// next session it could not be reached, and its lock would keep out the client that a push starts.
enum BusActivation {
    /// D-Bus Specification, "Message Bus Starting Services": set for programs that a bus starts. A
    /// service manager that starts a unit instead sets nothing, and ends it by itself.
    static var isPresent: Bool { Environment.value("DBUS_STARTER_ADDRESS") != nil }

    /// Returns when the bus has gone, or the task is cancelled.
    static func waitForEnd() async {
        do throws(BusError) {
            let bus = try await BusConnection.session()
            defer { bus.close() }
            for await _ in bus.messages {}
        } catch {
            // It has gone already.
        }
    }
}
