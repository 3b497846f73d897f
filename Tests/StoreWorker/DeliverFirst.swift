private import Glibc
import Reveille
import Synchronization
import WakeCommand
import WakeFetch

/// A client that delivers first: each match before the next request of the check, in `sync` also
/// before its connections are closed, which the end of the process does. Whoever sees the line can
/// tell that there was a match, and a measure that does not see it in this client is none.
///
/// Words: state directory, key of the feed, its URL, the service's URL, `sync` or `run`, the
/// program for a match and its arguments.
enum DeliverFirst {
    private final class Program: MatchHandler {
        private let words: [String]
        private let state = Mutex((starts: 0, endings: 0))

        init(_ words: [String]) { self.words = words }

        var starts: Int { state.withLock { $0.starts } }
        var isRunning: Bool { state.withLock { $0.starts > $0.endings } }

        func didFind(_ match: Match) async {
            state.withLock { $0.starts += 1 }
            _ = await Subprocess(words, adding: [], input: match.noteBytes ?? []).run(
                for: .seconds(600))
            state.withLock { $0.endings += 1 }
        }

        func didWarn(_ warning: Warning) async {}
    }

    /// libcurl, but with delivery first.
    private final class Transport: ClientTransport {
        private let fetcher: Fetcher
        private let client: Mutex<(client: WakeClient, program: Program)?>

        init(_ configuration: FetchConfiguration, keepsOpen: Bool) throws(FetchError) {
            var configuration = configuration
            if keepsOpen { configuration.idleTime = .seconds(3600) }
            fetcher = try Fetcher(configuration)
            client = Mutex(nil)
        }

        func deliver(of client: WakeClient, to program: Program) {
            self.client.withLock { $0 = (client, program) }
        }

        /// Waits until the program has ended, if it does so within four seconds. The library
        /// records that only behind the check, so that its own call does not return before.
        private func deliver() async {
            guard let (client, program) = client.withLock({ $0 }) else { return }
            guard await client.status.matchesToDeliver > 0 else { return }
            let starts = program.starts
            Task { try? await client.deliver() }
            // One that was delivered and not recorded yet does not start again.
            for _ in 0..<40 where program.starts == starts { poll(nil, 0, 5) }
            // Some are held until the story is over.
            for _ in 0..<800 where program.isRunning { poll(nil, 0, 5) }
        }

        func fetch(
            _ request: FetchRequest,
            onHead: @escaping @Sendable (FetchResponse) -> FetchVerdict,
            sink: @escaping @Sendable (Span<UInt8>) -> FetchVerdict
        ) async throws(FetchError) -> FetchResponse {
            if request.purpose == .feed { await deliver() }
            return try await fetcher.fetch(request, onHead: onHead, sink: sink)
        }

        func quiesce(_ purpose: FetchPurpose) async { await deliver() }
    }

    static func run(_ words: [String]) async -> Int32 {
        guard words.count > 5 else { return 2 }
        let isRunning = words[4] == "run"
        let made = Mutex<Transport?>(nil)
        var environment = ClientEnvironment.live
        environment.transport = { (configuration) throws(FetchError) in
            let transport = try Transport(configuration, keepsOpen: !isRunning)
            made.withLock { $0 = transport }
            return transport
        }
        let configuration = ClientConfiguration(
            feed: words[2], feedKey: words[1], service: words[3],
            channel: isRunning ? .stream : .poll, stateDirectory: words[0],
            cacheDirectory: words[0] + "/cache")
        let secrets = SecretDirectory(stateDirectory: words[0])
        do {
            let program = Program(Array(words[5...]))
            let client = try WakeClient(
                configuration, secrets: secrets, handler: program, environment: environment)
            made.withLock { $0 }?.deliver(of: client, to: program)
            if isRunning {
                try await client.run()
            } else {
                _ = try await client.check()
            }
            return 0
        } catch {
            return 1
        }
    }
}
