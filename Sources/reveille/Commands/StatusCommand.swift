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
        let numbers = try ServiceNumbers(answer).members
        let width = (numbers.map(\.name.count).max() ?? 0) + 2
        for (name, value) in numbers {
            let padding = String(repeating: " ", count: width - name.count)
            console.out(name.map { $0 == "_" ? " " : $0 } + padding + String(value))
        }
        return .success
    }
}
