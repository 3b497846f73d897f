import Reveille
import WakeCommand
import WakeFeed
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
        `checkFailure` is of the last check, `failure` of the last attempt to register; after each
        `Detail` names it with its values, such as `http-status 503 60` for a Retry-After of 60 s.
        """
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    let report = try mapError(CommandFailure.init) { () throws(ClientError) in
        let access = try ProfileAccess(configuration)
        return StatusReport(
            status: try access.status(),
            holder: ProfileDiagnostics.holder(of: configuration),
            hangs: ProfileDiagnostics.answers(configuration) == false,
            delivered: try access.deliveredMatches(limit: shownMatches),
            changed: (try? FileStatus(of: profile.configurationFile))?.modified)
    }
    Console().out(invocation.flag("--json") ? report.json : report.text)
    return .success
}

/// The state of a profile, as the running client tells it, or as status.
private struct StatusReport {
    let status: ClientStatus
    /// The process that holds the profile.
    let holder: Int32?
    /// It runs and does not answer.
    let hangs: Bool
    let delivered: [MatchID]
    /// Time of the last change of `client.conf`.
    let changed: Int?

    /// Members are added at the end and never taken away: scripts read this.
    var json: String {
        let members = status.json(isRunning: status.runningSince != nil || holder != nil)
        let ids = delivered.map { "\"\($0.text)\"" }.joined(separator: ",")
        return "\(members.dropLast()),\"process\":\(holder.map { "\($0)" } ?? "null"),"
            + "\"delivered\":[\(ids)]}"
    }

    var text: String {
        var lines = [
            "client          "
                + (holder.map { "running, process \($0)\(hangs ? ", and DOES NOT ANSWER" : "")" }
                    ?? (status.runningSince == nil ? "not running" : "running")),
            "registration    \(Report.sentence(status.registration))",
            "checked up to   "
                + (status.sequence == 0 ? "nothing yet" : "batch \(status.sequence)"),
            "matches waiting \(status.matchesToDeliver)",
        ]
        if let time = status.lastVerified {
            let age = max(0, ClientEnvironment.live.wallSeconds() - time.wholeSeconds)
            lines.append("last head       \(age) s ago")
        } else {
            lines.append("last head       none verified yet")
        }
        if let time = status.lastChecked {
            let age = max(0, ClientEnvironment.live.wallSeconds() - time.wholeSeconds)
            lines.append("last check      \(age) s ago, of all that the feed names")
        }
        if let failure = status.failure {
            lines.append("check           failed: \(failure.phrase)")
        }
        if let unchecked = status.unchecked {
            let batches = Warning.batches(unchecked.lowerBound, unchecked.upperBound)
            lines.append("not checked     \(batches), or some of that")
        }
        if let fingerprint = status.fingerprint {
            lines.append("fingerprint     \(fingerprint.text)")
        }
        if let time = status.waitingUntil {
            lines.append("waiting         \(Report.waiting(status.batchesWaiting, until: time))")
        }
        if status.pausedUntil != nil { lines.append("wakes           paused by the publisher") }
        if status.formerServices > 0 {
            lines.append("former service  \(Report.former(status.formerServices))")
        }
        if status.isRetired { lines.append("feed            has ended") }
        if status.isForked { lines.append("feed            FORKED: nothing newer is checked") }
        if status.sharesOrigin {
            lines.append(
                "note            feed and registration share an origin: one operator sees who"
                    + " registers and who fetches")
        }
        lines += delivered.map { "past match      \($0.text)" }
        return (lines + runningLines).joined(separator: "\n")
    }

    /// What only the running client knows.
    private var runningLines: [String] {
        guard let since = status.runningSince else { return [] }
        var lines = ["stream          \(status.stream.phrase)"]
        if let time = status.streamCutAfter {
            let cut = Report.cutStreams(after: Int(time.wholeSeconds))
            lines.append("streams         CUT: \(cut)")
        }
        if let time = status.nextCheck {
            let wait = max(0, time.wholeSeconds - ClientEnvironment.live.wallSeconds())
            lines.append("next check      in \(wait) s at the latest")
        }
        if let changed, changed > since.wholeSeconds {
            lines.append(
                "note            client.conf was changed since this client started: restart it, "
                    + "unless `push use` or `push off` changed it")
        }
        return lines
    }
}
