import WakeClient
import WakeCommand
import WakeSystem

let statusCommand = Command(
    "status", "show the state of this client",
    options: [.init("--json", "as JSON")] + Profile.options
) { invocation throws(CommandFailure) in
    let (_, configuration) = try Profile.open(invocation)
    let status = try mapError(CommandFailure.init) { () throws(ClientError) in
        try ProfileAccess(configuration).status()
    }
    let holder = ProfileDiagnostics.holder(of: configuration)
    Console().out(
        invocation.flag("--json") ? statusJSON(status, holder) : statusText(status, holder))
    return .success
}

/// Members are added at the end and never taken away: scripts read this.
private func statusJSON(_ status: ClientStatus, _ holder: Int32?) -> String {
    let number = { (value: Int64?) in value.map { "\($0)" } ?? "null" }
    let members = [
        Report.registration(status.registration),
        "\"sequence\":\(status.sequence)",
        "\"lastVerified\":\(number(status.lastVerified))",
        "\"matchesToDeliver\":\(status.matchesToDeliver)",
        "\"batchesWaiting\":\(status.batchesWaiting)",
        "\"waitingUntil\":\(number(status.waitingUntil))",
        "\"pausedUntil\":\(number(status.pausedUntil))",
        "\"retired\":\(status.isRetired)",
        "\"forked\":\(status.isForked)",
        "\"sharesOrigin\":\(status.sharesOrigin)",
        "\"running\":\(holder != nil)",
    ]
    return "{\(members.joined(separator: ","))}"
}

private func statusText(_ status: ClientStatus, _ holder: Int32?) -> String {
    var lines = [
        "client          \(holder.map { "running, process \($0)" } ?? "not running")",
        "registration    \(Report.sentence(status.registration))",
        "checked up to   \(status.sequence == 0 ? "nothing yet" : "batch \(status.sequence)")",
        "matches waiting \(status.matchesToDeliver)",
    ]
    if let time = status.lastVerified {
        let age = max(0, ClientEnvironment.live.wallSeconds() - time)
        lines.append("last head       \(age) s ago")
    } else {
        lines.append("last head       none verified yet")
    }
    if let time = status.waitingUntil {
        lines.append("waiting         \(Report.waiting(status.batchesWaiting, until: time))")
    }
    if status.pausedUntil != nil { lines.append("wakes           paused by the publisher") }
    if status.isRetired { lines.append("feed            has ended") }
    if status.isForked { lines.append("feed            FORKED: nothing newer is checked") }
    if status.sharesOrigin {
        lines.append(
            "note            feed and registration share an origin: one operator sees who"
                + " registers and who fetches")
    }
    return lines.joined(separator: "\n")
}
