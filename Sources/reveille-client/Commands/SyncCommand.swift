import FoundationEssentials
import Reveille
import WakeCommand
import WakeFeed

let syncCommand = Command(
    "sync", "fetch and check once, and report matches",
    options: deliveryOptions + [.init("--json", "as JSON, also of a failure")] + Profile.options,
    examples: ["reveille-client sync --json", "reveille-client sync --on-match /usr/bin/on-match"],
    notes: """
        Matches are reported when the connections of the check are closed. A registration that is
        due follows at random within 10 minutes, so that no observer can join the two by time: the
        command ends only then. Meanwhile other commands, and `run`, may use the profile.

        exit status:
          0   up to date, also when the day's bytes are used up
          10  a match was reported, whatever failed beside
          65  not this feed, or no server of ours answered: nothing is used
          74  a match could not be reported and waits; or the state or the
              secrets cannot be read or written, or the disk is full
          75  the server cannot be reached, or another process works here:
              try again later
          78  the configuration cannot work, files are open to others or are
              another user's, or a library is missing
        """
) { invocation throws(CommandFailure) in
    let isJSON = invocation.flag("--json")
    let run: SyncRun
    do throws(CommandFailure) {
        run = try SyncRun(invocation, isJSON: isJSON)
    } catch {
        // Readers of JSON get a missing profile as JSON, as everything else.
        if isJSON, error.status == .configuration {
            Console().out(bytes: SyncReport().json(failing: "configuration"))
        }
        throw error
    }
    return try await run.perform()
}

/// One check, and what follows it: the delivery of matches and, apart from both, a registration.
private struct SyncRun {
    private let profile: Profile
    private let configuration: ClientConfiguration
    private let handler: ConsoleHandler
    private let isJSON: Bool

    init(_ invocation: Invocation, isJSON: Bool) throws(CommandFailure) {
        (profile, configuration) = try Profile.open(invocation)
        handler = ConsoleHandler(
            onMatch: invocation.value("--on-match"), onWarning: invocation.value("--on-warning"),
            desktop: DesktopNotification(invocation), quiet: isJSON)
        self.isJSON = isJSON
        do throws(CommandFailure) { try handler.checkPrograms() } catch {
            // Said before there is a match; matches wait until the program can be executed.
            Console().error("reveille-client: \(error.message)")
            if let hint = error.hint { Console().error("hint: \(hint)") }
        }
    }

    func perform() async throws(CommandFailure) -> ExitStatus {
        var report = SyncReport()
        let (isWritten, due) = await checkAndDeliver(&report)
        if let due {
            // Nothing holds the profile until then.
            try? await Task.sleep(until: due, clock: .continuous)
            if case .failure(let error) = await registerLate(), case .success = report.outcome {
                report.outcome = .failure(error)
            }
        }
        return try conclude(report, isWritten: isWritten)
    }

    private func open(_ configuration: ClientConfiguration) async throws(ClientError) -> WakeClient
    {
        let client = try profile.client(configuration, handler: handler)
        if handler.onlyCollects { await client.deferConfirmation() }
        return client
    }

    /// The part that holds the profile.
    /// - Returns: whether standard output took everything, and the time of a registration that is
    ///   left to be sent.
    private func checkAndDeliver(
        _ report: inout SyncReport
    ) async -> (isWritten: Bool, due: ContinuousClock.Instant?) {
        let client: WakeClient
        do throws(ClientError) {
            client = try await open(configuration)
        } catch {
            report.outcome = .failure(error)
            // There is no client that could.
            if error == .diskFull { await handler.didWarn(.diskFull) }
            return (write(report), nil)
        }
        report.outcome = await checked { () async throws(ClientError) in try await client.check() }
        let due = await registrationTime(of: client)
        let pause = due.map { due in
            Task { (try? await Task.sleep(until: due, clock: .continuous)) != nil }
        }
        // Whether there is a match changes nothing about when the registration follows.
        async let registered = register(client, after: pause)
        let isWritten = await deliver(client, &report)
        pause?.cancel()
        var isLeft = false
        switch await registered {
        case .success(let isSent): isLeft = !isSent
        case .failure(let error):
            // The first failure is reported.
            if case .success = report.outcome { report.outcome = .failure(error) }
        }
        // A warning of a refusal.
        _ = await checked { () async throws(ClientError) in try await client.deliver() }
        report.undelivered = await client.status.matchesToDeliver
        return (isWritten, isLeft ? due : nil)
    }

    /// The time of a registration that must be kept apart from the check; nil for none.
    private func registrationTime(of client: WakeClient) async -> ContinuousClock.Instant? {
        guard let wait = try? await client.registrationWait() else { return nil }
        Console().error("reveille-client: a registration is due, and follows within 10 minutes")
        return .now + wait
    }

    /// With a timer and no daemon, desired changes of the registration are made here.
    /// - Returns: false when the pause was ended before its time.
    private func register(
        _ client: WakeClient, after pause: Task<Bool, Never>?
    ) async -> Result<Bool, ClientError> {
        if let pause, await !pause.value { return .success(false) }
        return await checked { () async throws(ClientError) in
            try await client.reconcileApart()
            return true
        }
    }

    /// Sends what is due once nothing joins it with the check any more. The profile may be gone by
    /// then, or held by a process that sends it in its own time.
    private func registerLate() async -> Result<Void, ClientError> {
        for _ in 0..<60 {
            guard let configuration = try? profile.configuration() else { break }
            let end = await checked { () async throws(ClientError) in
                let client = try await open(configuration)
                try await client.reconcile()
                try await client.deliver()
            }
            guard case .failure(.locked) = end else { return end }
            try? await Task.sleep(for: .seconds(1))
        }
        return .success(())
    }

    private func checked<Value: Sendable>(
        _ body: () async throws(ClientError) -> Value
    ) async -> Result<Value, ClientError> {
        do throws(ClientError) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    /// - Returns: false when standard output did not take everything.
    private func deliver(_ client: WakeClient, _ report: inout SyncReport) async -> Bool {
        do throws(ClientError) {
            // A match whose delivery failed an hour ago does not wait for the timer's next start.
            try? await client.retryDeliveries()
            try await client.deliver()
        } catch {
            // The first failure is reported.
            if case .success = report.outcome { report.outcome = .failure(error) }
        }
        report.matches = handler.matches
        let collected = handler.onlyCollects ? report.matches.count : 0
        report.undelivered = await client.status.matchesToDeliver - collected
        guard write(report) else { return false }
        // Only now do matches count as delivered that the JSON alone reports.
        do throws(ClientError) {
            try await client.confirmDeliveries()
        } catch {
            if case .success = report.outcome { report.outcome = .failure(error) }
        }
        return true
    }

    private func write(_ report: SyncReport) -> Bool {
        if isJSON, !Console().out(bytes: report.json()) { return false }
        if let waiting = report.waiting, !isJSON { Console().error("reveille-client: \(waiting)") }
        return !handler.hasOutputFailed
    }

    private func conclude(
        _ report: SyncReport, isWritten: Bool
    ) throws(CommandFailure) -> ExitStatus {
        var failure: CommandFailure?
        if case .failure(let error) = report.outcome { failure = CommandFailure(error) }
        guard isWritten, report.undelivered == 0 else {
            if let failure, !isJSON { Console().error("reveille-client: \(failure.message)") }
            throw CommandFailure(
                isWritten
                    ? "a match could not be reported, and waits"
                    : "standard output cannot be written; a match stays to be reported",
                status: .ioError)
        }
        guard let failure else { return report.matches.isEmpty ? .success : .match }
        // A delivered match counts, whatever failed afterwards.
        guard report.matches.isEmpty else {
            if !isJSON { Console().error("reveille-client: \(failure.message)") }
            return .match
        }
        if isJSON { return failure.status }
        throw failure
    }
}

/// The result of one run.
private struct SyncReport {
    var outcome: Result<SyncOutcome, ClientError> = .success(.upToDate)
    var matches: [Match] = []
    /// Matches that wait for another attempt.
    var undelivered = 0

    /// A sentence about batches that wait for another day.
    var waiting: String? {
        guard case .success(let end) = outcome, let until = end.figures.until else { return nil }
        return Report.waiting(end.figures.waiting, until: until)
    }

    /// - Parameter code: of a failure before the library was asked.
    func json(failing code: String? = nil) -> [UInt8] {
        var failure = code.map { "\"\($0)\"" } ?? "null"
        if case .failure(let error) = outcome { failure = Report.code(error) }
        let figures = code == nil ? try? outcome.get().figures : nil
        let members = [
            "\"outcome\":\"\(figures?.name ?? "failed")\"", "\"failure\":\(failure)",
            "\"batches\":\(figures?.batches ?? 0)",
            "\"batchesWaiting\":\(figures?.waiting ?? 0)",
            "\"waitingUntil\":\((figures?.until?.wholeSeconds).map { "\($0)" } ?? "null")",
        ]
        var text = Array("{\(members.joined(separator: ",")),\"matches\":[".utf8)
        for (index, match) in matches.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += Array(
                "{\"id\":\"\(match.id.text)\",\"secret\":\"\(match.secretID)\",\"note\":".utf8)
            text += ConsoleHandler.json(match.noteBytes)
            text.append(UInt8(ascii: "}"))
        }
        return text + Array("],\"undelivered\":\(undelivered)}\n".utf8)
    }
}
