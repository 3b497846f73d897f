private import Glibc

/// `bench <what> [options]`: the measurements behind the figures in README.md.
@main
enum Main {
    private struct Command {
        let name: String
        let what: String
        let run: @Sendable ([String]) async -> Int32
    }

    private static let commands = [
        Command(
            name: "registrations", what: "durable registrations a second, beside a bare loop",
            run: { await RegistrationsBenchmark.run($0) }),
        Command(
            name: "flood", what: "what others see of new registrations at full speed",
            run: { await FloodBenchmark.run($0) }),
        Command(
            name: "answers", what: "what the time of an answer tells of what was found",
            run: { await AnswersBenchmark.run($0) }),
        Command(
            name: "broadcast", what: "registrations a second while everyone is woken",
            run: { await BroadcastLoadBenchmark.run($0) }),
        Command(
            name: "scan", what: "CPU a registration in a broadcast, beside reading and opening",
            run: { await ScanBenchmark.run($0) }),
        Command(
            name: "rotation", what: "how long a rotation takes, and what waits for it",
            run: { await RotationBenchmark.run($0) }),
        Command(
            name: "cluster", what: "clients of many shards when shards come and go, simulated",
            run: { await ClusterBenchmark.run($0) }),
        Command(
            name: "load", what: "registrations over HTTP to a service that runs already",
            run: { await LoadBenchmark.run($0) }),
        Command(
            name: "client-matching",
            what: "digests verified and searched a second, beside hashing alone",
            run: { ClientMatchingBenchmark.run($0) }),
        Command(
            name: "matching-arms", what: "both arms of client-matching, for it to start",
            run: { MatchingArms.run($0) }),
        Command(
            name: "connections", what: "the service's memory for each connection held open",
            run: { ConnectionsBenchmark.run($0) }),
        Command(
            name: "oblivious", what: "CPU a registration without an address, beyond a plain one",
            run: { ObliviousBenchmark.run($0) }),
        Command(
            name: "proof", what: "CPU a client's cycle with a policy of witnesses and without",
            run: { await ProofBenchmark.run($0) }),
        Command(
            name: "push", what: "CPU a push and pushes a second, beside h2load and node",
            run: { PushBenchmark.run($0) }),
        Command(
            name: "push-sender", what: "the engine of push alone", run: { PushSender.run($0) }),
        Command(
            name: "push-peer", what: "the far end of push alone", run: { PushPeer.run($0) }),
    ]

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let name = arguments.first,
            let command = commands.first(where: { $0.name == name })
        else {
            print("usage: bench <what> [--help]")
            for command in commands { print("  \(command.name): \(command.what)") }
            exit(arguments.first == "--help" ? 0 : 2)
        }
        exit(await command.run(Array(arguments.dropFirst())))
    }
}
