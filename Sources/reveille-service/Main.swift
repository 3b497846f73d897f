import Glibc
import WakeCommand

@main
enum ServiceProgram {
    static let table = CommandTable(
        program: "reveille",
        summary: "an anonymous wake-up service: every device is woken, none is known",
        commands: [
            InitCommand.command, ServeCommand.command, ReloadCommand.command,
            CheckCommand.command,
            StatusCommand.command, BroadcastCommand.command, RotateCommand.command,
            AuditCommand.command, PolicyCommand.command, KeygenCommand.command,
        ] + FeedCommands.all + RelayCommand.all + WitnessCommands.all,
        examples: [
            "reveille init ./reveille", "reveille serve --config ./reveille/reveille.conf",
            "reveille feed publish digests.txt --config ./reveille/reveille.conf",
        ],
        manual: ServiceManual.manual)

    static func main() async {
        ProgramStart.begin()
        exit(await table.run(Array(CommandLine.arguments.dropFirst())))
    }
}
