import Synchronization
import WakeClient
import WakeCommand
import WakeFeed
import WakeModel

private let tellingOptions: [Command.Option] = [
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
    let end = RunEnd()
    await TerminationSignal.cancels {
        Supervisor.notifyReady()
        do throws(ClientError) {
            try await client.run()
        } catch {
            end.failure.withLock { $0 = error }
        }
    }
    let failure = end.failure.withLock { $0 }
    if let failure { throw CommandFailure(failure) }
    return .success
}

let syncCommand = Command(
    "sync", "look once; exit 0 up to date, 10 match, 75 try later, 65 bad feed",
    options: tellingOptions + [.init("--json", "as JSON")] + Profile.options,
    examples: ["reveille-client sync --json"]
) { invocation throws(CommandFailure) in
    let profile = try Profile(invocation)
    let configuration = try profile.configuration()
    let json = invocation.flag("--json")
    let handler = ConsoleHandler(
        onMatch: invocation.value("--on-match"), onWarning: invocation.value("--on-warning"),
        quiet: json)
    let outcome: Result<SyncOutcome, ClientError>
    do throws(ClientError) {
        let client = try WakeClient(
            configuration, secrets: profile.secrets(), handler: handler)
        outcome = await look(client)
        // For those who have a timer and no daemon: a wish is brought about here.
        try await client.reconcile()
    } catch {
        throw CommandFailure(error)
    }
    if json { Console().out(bytes: syncReport(outcome, handler.matches)) }
    switch outcome {
    case .success: return handler.matches.isEmpty ? .success : .match
    case .failure(let error):
        // What was told was told, whatever came after.
        if json { return CommandFailure.status(error) }
        throw CommandFailure(error)
    }
}

private func look(_ client: WakeClient) async -> Result<SyncOutcome, ClientError> {
    do throws(ClientError) {
        return .success(try await client.synchronize())
    } catch {
        return .failure(error)
    }
}

private func syncReport(
    _ outcome: Result<SyncOutcome, ClientError>, _ matches: [Match]
) -> [UInt8] {
    var batches = 0
    let word: String
    var failure: ClientError?
    switch outcome {
    case .success(.upToDate): word = "up-to-date"
    case .success(.checked(let count, _)):
        word = "checked"
        batches = count
    case .success(.behind): word = "behind"
    case .success(.retired): word = "retired"
    case .success(.ignored): word = "ignored"
    case .failure(let error):
        word = "failed"
        failure = error
    }
    let frame =
        "{\"outcome\":\"\(word)\",\"failure\":\(Report.code(failure)),\"batches\":\(batches)"
    var text = Array("\(frame),\"matches\":[".utf8)
    for (index, match) in matches.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        text += Array(
            "{\"id\":\"\(match.id.text)\",\"secret\":\"\(match.secretID)\",\"note\":".utf8)
        text += ConsoleHandler.json(match.note)
        text.append(UInt8(ascii: "}"))
    }
    return text + Array("]}\n".utf8)
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
