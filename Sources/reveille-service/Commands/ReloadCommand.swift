import WakeCommand
import WakeModel
import WakeServer
import WakeSystem

/// `reveille reload`: the running service reads its configuration again.
enum ReloadCommand {
    static let command = Command(
        "reload", "have the running service read its configuration again",
        options: [ConfigurationFile.option, .json],
        examples: ["reveille reload"],
        notes: """
            Keys of gateways, whole gateway sections, pacing and log level change without a
            restart, and the files of keys are read again. A running broadcast keeps the settings
            it began with. An invalid configuration changes nothing (status 78). The command
            names the keys that need a restart.
            """,
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        let admin = AdminClient(try ConfigurationFile.load(invocation))
        let answer = try admin.send("POST", "/v1/reload")
        if answer.status == 422 { throw CommandFailure(lines: answer.text, status: .configuration) }
        guard answer.status == 200 else { throw AdminClient.refused(answer) }
        let console = Console()
        if invocation.flag("--json") {
            console.out(bytes: answer.body + [0x0A])
            return .success
        }
        guard let report: [String: [String]] = AdminJSON.decode(answer.body) else {
            throw AdminClient.otherVersion
        }
        let lines = [
            ("changed", "in force"), ("gateways", "gateways made again"),
            ("restart", "in force after a restart"),
        ]
        var isSilent = true
        for (name, words) in lines {
            guard let names = report[name], !names.isEmpty else { continue }
            console.out("\(words): \(names.joined(separator: ", "))")
            isSilent = false
        }
        if isSilent { console.out("nothing has changed") }
        return .success
    }
}
