import WakeCommand
import WakeServer
import WakeSystem

/// `serve --refresh-feed`: what `reveille-feed.timer` does, where no timer runs, as in a container.
/// Each refresh is a process of its own, so that the one that serves never reads the feed's key.
struct FeedRefresher {
    static let option = Command.Option(
        "--refresh-feed", value: "SECONDS",
        "also run `feed refresh --cover`, at a random moment of each interval of this length")

    private let interval: Int
    private let configuration: String
    private let head: String
    private let log: Log

    /// - Returns: nil when the option was not given.
    init?(
        _ invocation: Invocation, _ configuration: Configuration, log: Log
    ) throws(CommandFailure) {
        // The head is valid for a week: two attempts at least.
        guard let seconds = try invocation.integer(Self.option.name, in: 10...302_400) else {
            return nil
        }
        interval = seconds
        self.configuration = try ConfigurationFile.locate(invocation)
        head = configuration.feed + "/head"
        self.log = log
    }

    /// Until the task is cancelled.
    func run() async {
        // After a pause longer than an interval clients wait for a head already.
        var delay = isOverdue ? 0 : Int.random(in: 0...interval)
        while true {
            guard await sleep(delay) else { return }
            if await !refresh(), !Task.isCancelled { log(.feedRefreshFailed) }
            guard await sleep(interval - delay) else { return }
            delay = Int.random(in: 0...interval)
        }
    }

    private var isOverdue: Bool {
        guard let status = try? FileStatus(of: head) else { return false }
        return FeedCommands.now - Int64(status.modified) > Int64(interval)
    }

    /// Nothing that it prints comes into the log, whose every line `audit --logs` knows.
    private func refresh() async -> Bool {
        // Witnesses have a minute.
        await Subprocess(
            [
                "/proc/self/exe", "feed", "refresh", "--cover", ConfigurationFile.option.name,
                configuration,
            ], adding: [], input: [], output: .nowhere
        ).run(for: .seconds(300)).isSuccess
    }

    /// - Returns: false when the task was cancelled.
    private func sleep(_ seconds: Int) async -> Bool {
        (try? await Task.sleep(for: .seconds(seconds))) != nil
    }
}
