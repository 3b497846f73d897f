import WakeCommand
import WakeModel
import WakeServer
import WakeSystem

/// `reveille broadcast`: one wake-up to everyone.
enum BroadcastCommand {
    static let command = Command(
        "broadcast", "wake everyone now",
        options: [
            ConfigurationFile.option,
            .init(
                "--force",
                "even if the feed has not changed since the last broadcast, or has clients "
                    + "ignore wake-ups"),
            .init("--no-wait", "return once event streams are woken; pushes continue"),
            .init(
                "--stop", "end the running or waiting broadcast; pushes not yet sent are dropped"),
            .init("--dry-run", "show how long it would take and what load it brings; send nothing"),
            .init(
                "--json",
                "the run at its end as one JSON object, that of `GET /v1/broadcast`; with "
                    + "--no-wait what `POST /v1/broadcast` answers; with --dry-run the plan"),
        ],
        examples: [
            "reveille broadcast", "reveille broadcast --dry-run",
        ],
        notes: """
            Ctrl-C stops the display, not the broadcast: that continues in the service until it is \
            complete, or until --stop. A request during a broadcast starts another one after \
            it; a request while one waits joins it.
            """,
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        let configuration = try ConfigurationFile.load(invocation)
        let isJSON = invocation.flag("--json")
        let admin = AdminClient(configuration)
        if invocation.flag("--dry-run") { return try plan(admin, json: isJSON) }
        if invocation.flag("--stop") {
            guard let run = try stop(admin) else { return .success }
            return try await watch(run, admin, json: isJSON)
        }
        let isWaiting = !invocation.flag("--no-wait")
        let run = try send(
            admin, force: invocation.flag("--force"), json: isJSON, isAll: !isWaiting)
        guard let run, isWaiting else { return .success }
        for line in try planLines(admin) { Console().error(String(line)) }
        return try await watch(run, admin, json: isJSON)
    }

    static let notNewer = CommandFailure(
        "the feed has nothing newer than the last broadcast",
        hint: "publish first; --force wakes clients even so")

    /// Asks the running service for a broadcast, and prints the result.
    /// - Parameter isAll: nothing follows.
    /// - Returns: the number of the broadcast run that follows; nil without a gateway.
    static func send(
        _ admin: AdminClient, force: Bool, json: Bool = false, isAll: Bool = false
    ) throws(CommandFailure) -> Int? {
        let pause = PauseNotice(try ServiceNumbers(admin.get("/v1/status")))
        if let pause, !force {
            throw CommandFailure(
                pause.text + ": nothing was sent",
                hint: PauseNotice.hint + "; `reveille broadcast --force` wakes them in vain")
        }
        let answer = try admin.send("POST", "/v1/broadcast", body: force ? "{\"force\":true}" : "")
        switch answer.status {
        case 200:
            guard let start: BroadcastStart = AdminJSON.decode(answer.body) else {
                throw AdminClient.otherVersion
            }
            let run = start.run > 0 ? start.run : nil
            if !json {
                Console().out(
                    "broadcast of sequence \(start.sequence) to \(start.streams) event streams")
            } else if isAll || run == nil {
                Console().out(bytes: answer.body + [0x0A])
            }
            for line in remarks(start) { Console().error(line) }
            if let pause { Console().error("warning: " + pause.text) }
            if run == nil { try admin.checkGateways() }
            return run
        case 409: throw notNewer
        case 503 where answer.code == "store_unavailable":
            throw CommandFailure(
                "the service cannot write down the broadcast: nothing was sent",
                hint: "see that its data directory is writable and not full")
        default: throw AdminClient.refused(answer)
        }
    }

    /// When pushes start, where that is not now.
    private static func remarks(_ start: BroadcastStart) -> [String] {
        let seconds = start.seconds ?? 0
        return [
            start.joins ? "joins the broadcast that was asked for before and waits" : nil,
            start.follows.map {
                "broadcast \($0) is running: pushes of this one start when that has ended"
            },
            seconds > 0
                ? "pushes wait for \(seconds) s: no push token gets more than three an hour" : nil,
        ].compactMap(\.self)
    }

    /// Ends the broadcast run that goes on, and drops requests that wait.
    /// - Returns: the run's number; nil when nothing of the broadcast had left.
    private static func stop(_ admin: AdminClient) throws(CommandFailure) -> Int? {
        let answer = try admin.send("DELETE", "/v1/broadcast")
        switch answer.status {
        case 200:
            if let run = try ServiceNumbers(answer.body)["run"], run > 0 { return run }
            Console().out("the broadcast that waited for its time will not be sent")
            return nil
        case 409:
            throw CommandFailure(
                "no broadcast runs or waits", hint: "reveille status shows the last")
        default: throw AdminClient.refused(answer)
        }
    }

    /// Follows a broadcast run to its end. Stopping to watch stops nothing else.
    private static func watch(
        _ run: Int, _ admin: AdminClient, json: Bool
    ) async throws(CommandFailure) -> ExitStatus {
        TerminationSignal.ends(
            saying: "the broadcast continues in the service: `reveille broadcast --stop` ends it, "
                + "`reveille status` shows it")
        let console = Console()
        defer { console.endProgress() }
        while true {
            let answer = try await admin.watch { () throws(CommandFailure) in
                try admin.get("/v1/broadcast")
            }
            let status = try BroadcastStatus(answer)
            if status.run >= run, !status.running {
                console.endProgress()
                return try report(status, json: json ? answer : nil)
            }
            if status.run == run { console.progress(status.progress) }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    /// The end of a run: counts and alarms.
    private static func report(
        _ status: BroadcastStatus, json: [UInt8]?
    ) throws(CommandFailure) -> ExitStatus {
        let console = Console()
        if let json {
            console.out(bytes: json + [0x0A])
        } else {
            console.out(status.summary)
            if let time = status.time { console.out(time) }
            for line in status.hostLines { console.out(line) }
        }
        guard status.complete || status.waiting else {
            throw CommandFailure(
                "the service stopped before the end of the broadcast",
                hint: "it continues when the service is started again", status: .transient)
        }
        for alarm in status.alarms { console.error("reveille: " + alarm) }
        return status.alarms.isEmpty ? .success : .failure
    }

    private static func plan(
        _ admin: AdminClient, json: Bool
    ) throws(CommandFailure) -> ExitStatus {
        let answer = try admin.send("GET", "/v1/plan", asJSON: json)
        if let refusal = try refusal(of: answer) { throw refusal }
        Console().out(answer.text, terminator: json ? "\n" : "")
        return .success
    }

    /// The expected time and the warnings, shown before a broadcast is watched.
    private static func planLines(_ admin: AdminClient) throws(CommandFailure) -> [Substring] {
        let answer = try admin.send("GET", "/v1/plan")
        if let refusal = try refusal(of: answer) { return ["warning: " + refusal.message] }
        return answer.text.split(separator: "\n")
            .filter { $0.hasPrefix("pushes leave in") || $0.hasPrefix("warning:") }
    }

    /// nil when the plan fits.
    private static func refusal(
        of answer: AdminClient.Answer
    ) throws(CommandFailure) -> CommandFailure? {
        switch answer.status {
        case 200: return nil
        case 409: return CommandFailure(lines: answer.text)
        default: throw AdminClient.refused(answer)
        }
    }
}

/// What `GET /v1/broadcast` answers, as far as this program reads it.
struct BroadcastStatus: Decodable {
    let run: Int
    let running: Bool
    let complete: Bool
    let waiting: Bool
    let ended: Bool
    let milliseconds: Int
    let plannedSeconds: Int?
    let asked: Int
    let mostlyRefused: Bool
    let rows: Int
    let accepted: Int
    let gone: Int
    let deleted: Int
    let retried: Int
    let abandoned: Int
    let duplicates: Int
    let unsent: Int
    let unserved: Int
    let deferred: Int
    let topics: Int
    /// By kind of host of Web Push and outcome.
    let hosts: [String: [String: Int]]
    /// By push service, whether its deletion breaker has tripped.
    let breakers: [String: Bool]
    let stopped: [String: String]
    /// Of the pushes given up, by cause.
    let causes: [String: Int]
    /// How far it is, for the terminal.
    let line: String

    init(_ answer: [UInt8]) throws(CommandFailure) {
        guard let status: Self = AdminJSON.decode(answer) else { throw AdminClient.otherVersion }
        self = status
    }

    /// The line, with a remark when everything was refused up to now.
    var progress: String { accepted == 0 && retried >= 64 ? line + "  refused so far" : line }

    /// The counts in one line.
    var summary: String {
        let counts = [
            (accepted, "accepted"), (gone, "gone"), (deleted, "forgotten for it"),
            (abandoned, "given up until the next broadcast"), (unsent, "not sent"),
            (deferred, "waiting for a gateway that is tried again every few minutes"),
            (duplicates, "sharing a push token with another"),
            (unserved, "of a push service without a gateway"),
            (topics, topics == 1 ? "message to a topic" : "messages to topics"),
        ]
        let shown = counts.filter { $0.0 > 0 || $0.1 == "accepted" }
        return (ended ? "ended on request; " : "") + "pushes to \(rows) registrations: "
            + shown.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }

    /// What happened beside the planner's estimate; nil for a run that is not whole.
    var time: String? {
        guard complete, !ended, let plannedSeconds else { return nil }
        let seconds = (milliseconds + 999) / 1000
        return "took \(NumberFormat.clock(seconds)), planned \(NumberFormat.clock(plannedSeconds))"
    }

    /// A line for each kind of host of Web Push.
    var hostLines: [String] {
        hosts.keys.sorted().map { kind in
            let words = [("accepted", "accepted"), ("gone", "gone"), ("abandoned", "given up")]
            let shown = words.compactMap { name, words in
                hosts[kind]?[name].flatMap { $0 > 0 ? "\($0) \(words)" : nil }
            }
            return "webpush at \(kind): " + shown.joined(separator: ", ")
        }
    }

    /// Messages that need an operator.
    var alarms: [String] {
        let alarms = breakers.filter(\.value).keys.sorted().map { service in
            """
            \(service): the push service rejected an implausible number of tokens; most were kept
            hint: see that its credentials are of the app whose tokens are registered; \
            gone-permille in [broadcast] sets the share
            """
        }
        let all = stopped.keys.sorted().compactMap { stopped[$0] } + alarms
        return all.isEmpty ? shortfall : all
    }

    /// A message when fewer than half of the pushes were accepted.
    private var shortfall: [String] {
        guard mostlyRefused else { return [] }
        let reasons = causes.filter { $0.value > 0 }.sorted {
            ($1.value, $0.key) < ($0.value, $1.key)
        }
        let named = reasons.map { ": \($0.key) \($0.value)" }.joined()
        return [
            """
            only \(accepted) of \(asked) pushes were accepted\(named)
            hint: no registration was deleted; the next broadcast tries again
            """
        ]
    }
}
