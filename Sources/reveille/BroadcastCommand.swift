import WakeCommand
import WakeModel
import WakeServer

/// `reveille broadcast`: one wake-up to everyone.
enum BroadcastCommand {
    static let command = Command(
        "broadcast", "wake everyone now",
        options: [
            ConfigurationFile.option,
            .init("--force", "although the feed has nothing newer than the last broadcast"),
            .init("--no-wait", "return once event streams are told; pushes go on without"),
            .init("--dry-run", "show how long it would take and what load it brings; send nothing"),
            .init(
                "--simulate", value: "ROWS",
                "play a broadcast to so many registrations on paper; needs no running service"),
        ],
        examples: [
            "reveille broadcast", "reveille broadcast --dry-run",
            "reveille broadcast --simulate 50000000",
        ],
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        let configuration = try ConfigurationFile.load(invocation)
        if let rows = try invocation.integer("--simulate", in: 0...BroadcastSimulation.largest) {
            return try BroadcastOnPaper.show(rows, configuration)
        }
        if invocation.flag("--dry-run") { return try plan(configuration) }
        let round = try send(configuration, force: invocation.flag("--force"))
        guard let round, !invocation.flag("--no-wait") else { return .success }
        for line in try planLines(configuration) { Console().error(line) }
        return try await watch(round, configuration)
    }

    static let notNewer = CommandFailure(
        "the feed has nothing newer than the last broadcast",
        hint: "publish first, or add --force")

    /// Asks the running service, and says what it did.
    /// - Returns: the round of pushes that follows; nil without a gateway.
    static func send(_ configuration: Configuration, force: Bool) throws(CommandFailure) -> Int? {
        let admin = AdminClient(address: configuration.admin)
        let answer = try admin.send(
            "POST", "/v1/broadcast", body: force ? "{\"force\":true}" : "")
        switch answer.status {
        case 200:
            let counts = try ServiceNumbers(answer.body)
            Console().out(
                "broadcast of sequence \(counts["sequence"] ?? 0) "
                    + "to \(counts["streams"] ?? 0) event streams")
            if let seconds = counts["seconds"], seconds > 0 {
                Console().error(
                    "pushes wait for \(seconds) s: no push token gets more than three an hour")
            }
            return counts["round"].flatMap { $0 > 0 ? $0 : nil }
        case 409:
            if let refusal = try refusedPlan(configuration) { throw refusal }
            throw notNewer
        case 503:
            throw CommandFailure(
                "the service cannot write down the broadcast: nothing was sent",
                hint: "see that its data directory is writable and not full")
        default:
            throw CommandFailure("the service refused with status \(answer.status)")
        }
    }

    /// Follows a round to its end. Whoever stops watching stops nothing else.
    private static func watch(
        _ round: Int, _ configuration: Configuration
    ) async throws(CommandFailure) -> ExitStatus {
        let console = Console()
        let admin = AdminClient(address: configuration.admin)
        defer { console.endProgress() }
        while true {
            let status = try BroadcastStatus(admin)
            if status.round >= round, !status.running {
                console.endProgress()
                return try tell(status)
            }
            if status.round == round { console.progress(status.progress) }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    /// The end of a round: counts, and what has to be looked at.
    private static func tell(_ status: BroadcastStatus) throws(CommandFailure) -> ExitStatus {
        let console = Console()
        console.out(status.summary)
        guard status.complete else {
            throw CommandFailure(
                "the service stopped before the end of the round",
                hint: "it goes on when the service is started again", status: .transient)
        }
        for alarm in status.alarms { console.error("reveille: " + alarm) }
        return status.alarms.isEmpty ? .success : .failure
    }

    // MARK: On paper

    private static func plan(_ configuration: Configuration) throws(CommandFailure) -> ExitStatus {
        if let refusal = try refusedPlan(configuration) { throw refusal }
        let answer = try AdminClient(address: configuration.admin).send("GET", "/v1/plan")
        Console().out(String(decoding: answer.body, as: UTF8.self), terminator: "")
        return .success
    }

    /// What whoever watches wants to know beforehand: how long it will take, and warnings.
    private static func planLines(
        _ configuration: Configuration
    ) throws(CommandFailure) -> [String] {
        let answer = try AdminClient(address: configuration.admin).send("GET", "/v1/plan")
        guard answer.status == 200 else { return [] }
        return String(decoding: answer.body, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0.hasPrefix("pushes leave in") || $0.hasPrefix("warning:") }
    }

    /// nil when the plan fits.
    private static func refusedPlan(
        _ configuration: Configuration
    ) throws(CommandFailure) -> CommandFailure? {
        let answer = try AdminClient(address: configuration.admin).send("GET", "/v1/plan")
        switch answer.status {
        case 200: return nil
        case 409:
            let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
            return CommandFailure(
                String(lines.first ?? ""),
                hint: lines.dropFirst().first.map { String($0.trimmingPrefix("hint: ")) })
        default: throw CommandFailure("the service refused with status \(answer.status)")
        }
    }
}

/// A flat JSON object of numbers, as the admin socket answers.
struct ServiceNumbers {
    private(set) var members: [(name: String, value: Int)] = []

    init(_ body: [UInt8]) throws(CommandFailure) {
        var members: [(name: String, value: Int)] = []
        do throws(JSONError) {
            var scanner = try JSONScanner(body)
            try scanner.document { (scanner) throws(JSONError) in
                try scanner.object { (scanner, name) throws(JSONError) in
                    let value = try scanner.integer()
                    members.append((String(decoding: name, as: UTF8.self), value))
                }
            }
        } catch {
            throw CommandFailure("the service's answer is not of this version")
        }
        self.members = members
    }

    subscript(name: String) -> Int? { members.first { $0.name == name }?.value }
}
