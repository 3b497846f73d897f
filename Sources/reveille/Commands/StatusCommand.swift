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
        let answer = try AdminClient(address: configuration.admin).get("/v1/status")
        let console = Console()
        if invocation.flag("--json") {
            console.out(bytes: answer + [0x0A])
            return .success
        }
        let rows = try ServiceNumbers(answer).members.map { name, value in
            (name.replacing("_", with: " "), String(value))
        }
        for line in Console.columns(rows) { console.out(line) }
        return .success
    }
}
