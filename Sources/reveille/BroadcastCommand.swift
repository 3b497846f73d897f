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
        ],
        examples: ["reveille broadcast", "reveille broadcast --force"],
        run: { (invocation) async throws(CommandFailure) in
            let configuration = try ConfigurationFile.load(invocation)
            let round = try send(configuration, force: invocation.flag("--force"))
            guard let round, !invocation.flag("--no-wait") else { return .success }
            return try await watch(round, configuration)
        })

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
            return counts["round"].flatMap { $0 > 0 ? $0 : nil }
        case 409: throw notNewer
        default:
            throw CommandFailure("the service refused with status \(answer.status)")
        }
    }

    /// Follows a round to its end. Whoever stops watching stops nothing else.
    private static func watch(
        _ round: Int, _ configuration: Configuration
    ) async throws(CommandFailure) -> ExitStatus {
        let console = Console()
        defer { console.endProgress() }
        while true {
            let report = try report(configuration)
            if report.round >= round, !report.isRunning {
                console.endProgress()
                return try tell(report)
            }
            if report.round == round { console.progress(progress(report)) }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    private static func report(
        _ configuration: Configuration
    ) throws(CommandFailure) -> BroadcastReport {
        let answer = try AdminClient(address: configuration.admin).send("GET", "/v1/broadcast")
        guard answer.status == 200 else {
            throw CommandFailure("the service refused with status \(answer.status)")
        }
        do throws(JSONError) {
            return try BroadcastReport(decoding: answer.body)
        } catch {
            throw CommandFailure("the service's answer is not of this version")
        }
    }

    private static func progress(_ report: BroadcastReport) -> String {
        let settled = report.accepted + report.gone + report.retry
        let rate = settled * 1000 / max(1, report.milliseconds)
        return "\(report.permille / 10) %, \(settled) pushes settled, \(rate)/s"
    }

    /// The end of a round: counts, and what kept a gateway from working.
    private static func tell(_ report: BroadcastReport) throws(CommandFailure) -> ExitStatus {
        let console = Console()
        var counts = [("accepted", report.accepted), ("gone and forgotten", report.gone)]
        counts += [
            ("given up until the next broadcast", report.retry), ("not sent", report.unsent),
            ("sharing a push token with another", report.duplicates),
            ("of a push service without a gateway", report.unserved),
        ].filter { $0.1 > 0 }
        console.out(
            "pushes to \(report.rows) registrations: "
                + counts.map { "\($0.1) \($0.0)" }.joined(separator: ", "))
        for message in report.stopped.keys.sorted().compactMap({ report.stopped[$0] }) {
            console.error("reveille: " + message)
        }
        if report.isCutShort {
            throw CommandFailure(
                "the store could not be read to its end",
                hint: "see the service's log; repeat with --force", status: .transient)
        }
        return report.stopped.isEmpty ? .success : .failure
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
