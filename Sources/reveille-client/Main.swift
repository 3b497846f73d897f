private import Glibc
private import WakeCommand

@main
enum ClientProgram {
    static func main() async {
        ProgramStart.begin(rests: true)
        // A program that --on-match starts may close its input before the note is written.
        _ = signal(SIGPIPE, SIG_IGN)
        let table = CommandTable(
            program: "reveille-client",
            summary: "checks a signed feed for what only this device knows",
            commands: [
                initCommand, secretsAddCommand, secretsListCommand, secretsRemoveCommand,
                registerCommand, unregisterCommand, storedCommand, syncCommand, runCommand,
                statusCommand, testCommand, doctorCommand, pushListCommand, pushUseCommand,
                pushOffCommand, pushStatusCommand, profilesCommand, verifyCommand,
                startOverCommand, forgetCommand,
            ],
            examples: [
                "reveille-client init --feed https://feed.example/feed/ --key KEY "
                    + "--service https://wake.example",
                "reveille-client secrets add visit < secret.txt",
                "reveille-client run --on-match /usr/local/bin/on-match",
                "reveille-client sync --json",
                "reveille-client register webpush < endpoint.txt",
                "reveille-client unregister",
            ],
            manual: ClientManual.manual)
        exit(await table.run(Array(CommandLine.arguments.dropFirst())))
    }
}
