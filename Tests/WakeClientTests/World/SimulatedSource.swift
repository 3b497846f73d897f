import ReveilleTesting
import Synchronization
import WakeSystem

@testable import Reveille

/// An app's own published data: a list of words that grows, fetched a few at a time. The cursor is
/// the number of words that were fetched.
final class SimulatedSource: DataSource {
    /// How it misbehaves.
    enum Fault: Sendable {
        case throwing(any Error)
        /// The cursor stays where it is, and there is always more.
        case stuck
        /// The cursor comes back to where it was, and there is always more.
        case circling
        case longCursor(Int)
        /// Does not notice that its task was cancelled.
        case deaf(Duration)
        case throwingAtCheck
    }

    struct Failure: Error {}

    struct Fetch: Equatable {
        let time: Duration
        let after: String?
    }

    private struct State {
        var words: [String] = []
        var wanted: Set<String> = []
        var generation: UInt64 = 0
        var kept: [String] = []
        var fault: Fault?
        var delay = Duration.milliseconds(20)
        var bringsEverything = false
        var fetches: [Fetch] = []
        var rechecks = 0
    }

    private let time: SimulatedTime
    private let perPage: Int
    private let state = Mutex(State())

    init(_ time: SimulatedTime, perPage: Int = 2) {
        self.time = time
        self.perPage = perPage
    }

    func publish(_ words: String...) { state.withLock { $0.words += words } }

    func unpublishAll() { state.withLock { $0.words = [] } }

    /// The device searches for a word from now on.
    func want(_ word: String) {
        state.withLock { state in
            state.wanted.insert(word)
            state.generation += 1
        }
    }

    func misbehave(_ fault: Fault?) { state.withLock { $0.fault = fault } }

    func answer(after delay: Duration) { state.withLock { $0.delay = delay } }

    /// It has no cursor worth the name, and brings all words every time.
    func bringEverything() { state.withLock { $0.bringsEverything = true } }

    var fetches: [Fetch] { state.withLock { $0.fetches } }
    var rechecks: Int { state.withLock { $0.rechecks } }

    func fetch(after cursor: DataCursor?) async throws -> DataPage<String> {
        let text = cursor.map { String(decoding: $0.bytes, as: UTF8.self) }
        let (answer, fault, delay) = state.withLock { state in
            state.fetches.append(Fetch(time: time.now, after: text))
            return (self.page(after: text, of: state), state.fault, state.delay)
        }
        if case .deaf(let duration) = fault {
            // Nobody cancels a task of its own.
            let sleeper = Task(executorPreference: time.tasks) { [time] in
                await time.sleep(duration)
            }
            await sleeper.value
        } else {
            await time.sleep(delay)
        }
        try Task.checkCancellation()
        if case .throwing(let error) = fault { throw error }
        return answer
    }

    private func page(after text: String?, of state: State) -> DataPage<String> {
        let start = state.bringsEverything ? 0 : text.flatMap { Int($0) } ?? 0
        let end =
            state.bringsEverything
            ? state.words.count : min(start + perPage, state.words.count)
        let batches = Array(state.words[min(start, end)..<end])
        let cursor = DataCursor(Array(String(end).utf8))
        switch state.fault {
        case .stuck:
            return DataPage(
                batches: batches, cursor: DataCursor(Array((text ?? "0").utf8)), hasMore: true)
        case .circling:
            let other = text == "0" ? "1" : "0"
            return DataPage(batches: [], cursor: DataCursor(Array(other.utf8)), hasMore: true)
        case .longCursor(let count):
            return DataPage(
                batches: batches, cursor: DataCursor([UInt8](repeating: 7, count: count)))
        default:
            return DataPage(batches: batches, cursor: cursor, hasMore: end < state.words.count)
        }
    }

    func check(_ word: String) throws -> [Match] {
        try state.withLock { state in
            if case .throwingAtCheck = state.fault { throw Failure() }
            state.kept.append(word)
            guard state.wanted.contains(word) else { return [] }
            return [Match(item: Array(word.utf8), secretID: word, note: "found")]
        }
    }

    func generation() -> UInt64 { state.withLock { $0.generation } }

    func recheck() -> [Match] {
        state.withLock { state in
            state.rechecks += 1
            return Set(state.kept).intersection(state.wanted).sorted().map {
                Match(item: Array($0.utf8), secretID: $0)
            }
        }
    }
}

extension World {
    /// A client of a source of the app's own; it polls every hour, without spread.
    func client(
        of source: some DataSource, _ channel: ClientConfiguration.Channel = .poll,
        change: (inout SourceConfiguration) -> Void = { _ in }
    ) throws(ClientError) -> WakeClient {
        var configuration = SourceConfiguration(
            stateDirectory: stateDirectory, service: "https://wake.example", channel: channel,
            pollInterval: .seconds(3600), spread: .zero)
        change(&configuration)
        return try WakeClient(
            configuration, source: source, handler: handler, environment: environment)
    }
}

extension WakeClient {
    /// The cursor that the next fetch is given.
    var sourceCursor: String? {
        guard case .app(let cursor, _) = profile.record.position else { return nil }
        return cursor.map { String(decoding: $0.bytes, as: UTF8.self) }
    }
}
