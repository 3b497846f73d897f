private import Glibc

/// `bench <what> [options]`: the measurements behind the figures in the documents.
@main
enum Main {
    private struct Command {
        let name: String
        let what: String
        let run: @Sendable ([String]) async -> Int32
    }

    private static let commands = [
        Command(
            name: "all", what: "the table: every row beside what is possible",
            run: { await AllBenchmarks.run($0) }),
        Command(
            name: "table", what: "figures of a run of all, for the documents",
            run: { FigureDocument.run($0) }),
        Command(
            name: "flood", what: "what others see of new registrations at full speed",
            run: { await FloodBenchmark.run($0) }),
        Command(
            name: "answers", what: "what the time of an answer tells of what was found",
            run: { await AnswersBenchmark.run($0) }),
        Command(
            name: "cluster", what: "clients of many shards when shards come and go, simulated",
            run: { await ClusterBenchmark.run($0) }),
    ]

    /// What `all` starts as processes of their own.
    private static let parts = [
        Command(
            name: "bare-loop", what: "the commits of registrations alone",
            run: { BareLoop.run($0) }),
        Command(
            name: "matching-arms", what: "the arms of the rows feed-match",
            run: { MatchingArms.run($0) }),
        Command(
            name: "push-sender", what: "the engine of push alone", run: { PushSender.run($0) }),
        Command(
            name: "push-bytes", what: "the bytes of pushes alone", run: { PushBytes.run($0) }),
        Command(
            name: "push-peer", what: "the far end of push alone", run: { PushPeer.run($0) }),
    ]

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let name = arguments.first,
            let command = (commands + parts).first(where: { $0.name == name })
        else {
            print("usage: bench <what> [--help]")
            for command in commands { print("  \(command.name): \(command.what)") }
            exit(arguments.first == "--help" ? 0 : 2)
        }
        exit(await command.run(Array(arguments.dropFirst())))
    }
}
