import Reveille
import WakeCommand
import WakeFeed
import WakeModel
import WakeSystem

/// Past matches that are shown.
private let shownMatches = 20

let statusCommand = Command(
    "status", "show the state of this client, asking the one that runs",
    options: [.init("--json", "as JSON")] + Profile.options,
    notes: """
        Times in JSON are seconds since 1970. `stream` is unused, connecting, connected, waiting,
        refused or silent: accepted by the service, but what it sends is kept back on the way.
        `streamCutSeconds` is the time after which a proxy on the way cuts the streams.
        `checkFailure` is of the last check, `failure` of the last attempt to register.
        """
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    let report = try mapError(CommandFailure.init) { () throws(ClientError) in
        let access = try ProfileAccess(configuration)
        return StatusReport(
            stored: try access.status(), running: access.runningStatus(),
            holder: ProfileDiagnostics.holder(of: configuration),
            delivered: try access.deliveredMatches(limit: shownMatches),
            changed: (try? FileStatus(of: profile.configurationFile))?.modified)
    }
    Console().out(invocation.flag("--json") ? report.json : report.text)
    return .success
}

/// The state of a profile as stored, and as the running client tells it.
private struct StatusReport {
    let stored: ClientStatus
    /// The running client's answer; nil when none runs, or it runs without `run`.
    let running: [UInt8]?
    /// The process that holds the profile.
    let holder: Int32?
    let delivered: [MatchID]
    /// Time of the last change of `client.conf`.
    let changed: Int?

    /// Members are added at the end and never taken away: scripts read this.
    var json: String {
        let members =
            running.map { String(decoding: $0, as: UTF8.self) }
            ?? stored.json(isRunning: holder != nil)
        let ids = delivered.map { "\"\($0.text)\"" }.joined(separator: ",")
        return "\(members.dropLast()),\"process\":\(holder.map { "\($0)" } ?? "null"),"
            + "\"delivered\":[\(ids)]}"
    }

    var text: String {
        var lines = [
            "client          "
                + (holder.map { "running, process \($0)" }
                    ?? (running == nil ? "not running" : "running")),
            "registration    \(Report.sentence(stored.registration))",
            "checked up to   "
                + (stored.sequence == 0 ? "nothing yet" : "batch \(stored.sequence)"),
            "matches waiting \(stored.matchesToDeliver)",
        ]
        if let time = stored.lastVerified {
            let age = max(0, ClientEnvironment.live.wallSeconds() - time.wholeSeconds)
            lines.append("last head       \(age) s ago")
        } else {
            lines.append("last head       none verified yet")
        }
        if let time = stored.lastChecked {
            let age = max(0, ClientEnvironment.live.wallSeconds() - time.wholeSeconds)
            lines.append("last check      \(age) s ago, of all that the feed names")
        }
        if let unchecked = stored.unchecked {
            let batches = Warning.batches(unchecked.lowerBound, unchecked.upperBound)
            lines.append("not checked     \(batches), or some of that")
        }
        if let fingerprint = stored.fingerprint {
            lines.append("fingerprint     \(fingerprint.text)")
        }
        if let time = stored.waitingUntil {
            lines.append("waiting         \(Report.waiting(stored.batchesWaiting, until: time))")
        }
        if stored.pausedUntil != nil { lines.append("wakes           paused by the publisher") }
        if stored.formerServices > 0 {
            lines.append("former service  \(Report.former(stored.formerServices))")
        }
        if stored.isRetired { lines.append("feed            has ended") }
        if stored.isForked { lines.append("feed            FORKED: nothing newer is checked") }
        if stored.sharesOrigin {
            lines.append(
                "note            feed and registration share an origin: one operator sees who"
                    + " registers and who fetches")
        }
        lines += delivered.map { "past match      \($0.text)" }
        return (lines + runningLines).joined(separator: "\n")
    }

    /// What only the running client knows.
    private var runningLines: [String] {
        guard let running, let live = try? JSONValue(parsing: running) else { return [] }
        var lines = ["stream          \(Self.sentence(ofStream: live))"]
        if let seconds = live["streamCutSeconds"].integer {
            lines.append("streams         CUT: \(Report.cutStreams(after: seconds))")
        }
        let code = { (name: String) in live[name].text.isEmpty ? nil : live[name].text }
        if let failure = code("checkFailure") { lines.append("check           failed: \(failure)") }
        if let failure = code("failure") { lines.append("registration    failed: \(failure)") }
        let now = Int(ClientEnvironment.live.wallSeconds())
        if let time = live["nextCheck"].integer {
            lines.append("next check      in \(max(0, time - now)) s at the latest")
        }
        if let changed, let since = live["runningSince"].integer, changed > since {
            lines.append(
                "note            client.conf was changed since this client started: restart it")
        }
        return lines
    }

    private static func sentence(ofStream live: JSONValue) -> String {
        switch live["stream"].text {
        case "unused": "not used, this client polls"
        case "connecting": "is being opened"
        case "connected": "connected"
        case "refused":
            "refused with status \(live["streamStatus"].integer ?? 0), tried again later"
        case "silent":
            "SILENT: accepted, but nothing comes; a proxy on the way keeps it back. Polling goes on"
        default: "closed, tried again later"
        }
    }
}
