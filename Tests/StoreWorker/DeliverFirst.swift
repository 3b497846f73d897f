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

        init(_ words: [String]) { self.words = words }

        func didFind(_ match: Match) async {
            _ = await Subprocess(words, adding: [], input: match.noteBytes).run(for: .seconds(600))
        }

        func didWarn(_ warning: Warning) async {}
    }

    /// libcurl, but with delivery first.
    private final class Transport: ClientTransport {
        private let fetcher: Fetcher
        private let client: Mutex<WakeClient?>

        init(_ configuration: FetchConfiguration, keepsOpen: Bool) throws(FetchError) {
            var configuration = configuration
            if keepsOpen { configuration.idleTime = .seconds(3600) }
            fetcher = try Fetcher(configuration)
            client = Mutex(nil)
        }

        func deliver(of client: WakeClient) { self.client.withLock { $0 = client } }

        private func deliver() async { try? await client.withLock { $0 }?.deliver() }

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
            let client = try WakeClient(
                configuration, secrets: secrets, handler: Program(Array(words[5...])),
                environment: environment)
            made.withLock { $0 }?.deliver(of: client)
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
