import WakeClient
import WakeCommand
import WakeFeed

let syncCommand = Command(
    "sync", "fetch and check once, and report matches",
    options: deliveryOptions + [.init("--json", "as JSON, also of a failure")] + Profile.options,
    examples: ["reveille-client sync --json", "reveille-client sync --on-match /usr/bin/on-match"],
    notes: """
        exit status:
          0   up to date, also when the day's bytes are used up
          10  a match was reported
          65  what came is not this feed, or no server of ours: nothing of it was used
          74  the state or the secrets cannot be read or written, or the disk is full
          75  the server cannot be reached or another process works here: try again later
          78  the configuration cannot work, files are open to others, a library is missing
        """
) { invocation throws(CommandFailure) in
    let isJSON = invocation.flag("--json")
    var report = SyncReport()
    var client: WakeClient?
    var isUnwritten = false
    do throws(CommandFailure) {
        let profile = try Profile(invocation)
        let handler = ConsoleHandler(
            onMatch: invocation.value("--on-match"), onWarning: invocation.value("--on-warning"),
            desktop: DesktopNotification(invocation), quiet: isJSON)
        let configuration = try profile.configuration()
        (client, report.outcome) = await synchronize(profile, configuration, handler)
        report.matches = handler.matches
        isUnwritten = handler.hasOutputFailed
    } catch {
        // Readers of JSON get a missing profile as JSON, as everything else.
        if isJSON, error.status == .configuration {
            Console().out(bytes: report.json(failing: "configuration"))
        }
        throw error
    }
    if isJSON, !Console().out(bytes: report.json()) { isUnwritten = true }
    // Only now do matches count as delivered that the JSON alone reports.
    if !isUnwritten, let client {
        try await mapClientError { () async throws(ClientError) in
            try await client.confirmDeliveries()
        }
    }
    if let waiting = report.waiting, !isJSON { Console().error("reveille-client: \(waiting)") }
    if isUnwritten {
        throw CommandFailure(
            "standard output cannot be written; a match stays to be reported", status: .ioError)
    }
    // A delivered match counts, whatever failed afterwards.
    guard case .failure(let error) = report.outcome else {
        return report.matches.isEmpty ? .success : .match
    }
    if isJSON { return CommandFailure(error).status }
    throw CommandFailure(error)
}

private func synchronize(
    _ profile: Profile, _ configuration: ClientConfiguration, _ handler: ConsoleHandler
) async -> (WakeClient?, Result<SyncOutcome, ClientError>) {
    do throws(ClientError) {
        let client = try profile.client(configuration, handler: handler)
        if handler.onlyCollects { await client.deferConfirmation() }
        return (client, await synchronize(client))
    } catch {
        return (nil, .failure(error))
    }
}

private func synchronize(_ client: WakeClient) async -> Result<SyncOutcome, ClientError> {
    let outcome: Result<SyncOutcome, ClientError>
    do throws(ClientError) {
        outcome = .success(try await client.synchronize())
    } catch {
        outcome = .failure(error)
    }
    do throws(ClientError) {
        // With a timer and no daemon, desired changes of the registration are made here.
        try await client.reconcileAndDeliver()
        return outcome
    } catch {
        // The first failure is reported.
        if case .failure = outcome { return outcome }
        return .failure(error)
    }
}

/// The result of one run.
private struct SyncReport {
    var outcome: Result<SyncOutcome, ClientError> = .success(.upToDate)
    var matches: [Match] = []

    /// A sentence about batches that wait for another day.
    var waiting: String? { figures.until.map { Report.waiting(figures.waiting, until: $0) } }

    private var figures: (name: String, batches: Int, waiting: Int, until: Int64?) {
        switch outcome {
        case .success(.upToDate): ("up-to-date", 0, 0, nil)
        case .success(.checked(let batches, _)): ("checked", batches, 0, nil)
        case .success(.metered(let batches, _, let waiting, let until)):
            ("metered", batches, waiting, until)
        case .success(.behind): ("behind", 0, 0, nil)
        case .success(.retired): ("retired", 0, 0, nil)
        case .success(.ignored): ("ignored", 0, 0, nil)
        case .failure: ("failed", 0, 0, nil)
        }
    }

    /// - Parameter code: of a failure before the library was asked.
    func json(failing code: String? = nil) -> [UInt8] {
        var failure = code.map { "\"\($0)\"" } ?? "null"
        if case .failure(let error) = outcome { failure = Report.code(error) }
        let figures = figures
        let members = [
            "\"outcome\":\"\(code == nil ? figures.name : "failed")\"", "\"failure\":\(failure)",
            "\"batches\":\(figures.batches)", "\"batchesWaiting\":\(figures.waiting)",
            "\"waitingUntil\":\(figures.until.map { "\($0)" } ?? "null")",
        ]
        var text = Array("{\(members.joined(separator: ",")),\"matches\":[".utf8)
        for (index, match) in matches.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += Array(
                "{\"id\":\"\(match.id.text)\",\"secret\":\"\(match.secretID)\",\"note\":".utf8)
            text += ConsoleHandler.json(match.note)
            text.append(UInt8(ascii: "}"))
        }
        return text + Array("]}\n".utf8)
    }
}
