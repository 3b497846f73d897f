import WakeCommand
import WakeServer

/// `reveille status`: the running service in numbers.
enum StatusCommand {
    static let command = Command(
        "status", "show what the running service counts",
        options: [ConfigurationFile.option, .init("--json", "as one JSON object")],
        examples: ["reveille status", "reveille status --json"],
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        let configuration = try ConfigurationFile.load(invocation)
        let admin = AdminClient(configuration)
        let answer = try admin.get("/v1/status")
        let console = Console()
        if invocation.flag("--json") {
            console.out(bytes: answer + [0x0A])
            return .success
        }
        let rows = try ServiceNumbers(answer).members.map { name, value in
            (name.replacing("_", with: " "), String(value))
        }
        for line in Console.columns(rows) { console.out(line) }
        let broadcast = try BroadcastStatus(admin)
        guard broadcast.run > 0 else { return .success }
        console.out(broadcast.running ? broadcast.line : broadcast.summary)
        if let time = broadcast.time { console.out(time) }
        for line in broadcast.hostLines + broadcast.alarms { console.out(line) }
        return .success
    }
}
