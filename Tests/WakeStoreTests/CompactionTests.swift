import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("A compaction goes on beside everybody", .timeLimit(.minutes(5)))
struct CompactionTests {
    private static let rows = 600

    /// Rows of both generations, so that both tables are copied.
    private func filled() async throws -> (StorePlace, Store) {
        let place = StorePlace()
        try await place.create()
        var configuration = place.configuration
        configuration.copiedRows = 2
        let store = try Store(opening: configuration)
        await store.fill(0..<Self.rows)
        try await store.rotated()
        await store.fill(0..<Self.rows / 2)
        return (place, store)
    }

    @Test("whatever is deleted, moved, renewed and new meanwhile: in the file, or in none")
    func beside() async throws {
        let (place, store) = try await filled()
        let copy = place.configuration.databaseFile + ".new"
        var random = SplitMix64(seed: 20)
        let deleted = Array((0..<Self.rows).shuffled(using: &random).prefix(120))
        var traces: [Int: Traces] = [:]
        for number in deleted { traces[number] = await Traces(number, store) }
        #expect(traces.count == deleted.count)
        let kept = (0..<Self.rows).filter { traces[$0] == nil }
        let changed = kept.shuffled(using: &random).prefix(120)
        var steps: [@Sendable () -> StoreOperation] = []
        for number in deleted { steps.append { .delete(Known.token(number)) } }
        for number in changed {
            steps.append { .register(Known.token(number), Known.pushToken(number, 2)) }
        }
        for number in Self.rows..<Self.rows + 60 {
            steps.append { .register(Known.token(number), Known.pushToken(number)) }
        }
        steps.shuffle(using: &random)
        let beside = Beside(store, place, copy: copy, traces: traces, steps)
        // Before the compaction: one that was over first would never be seen.
        beside.begin()
        async let compaction = store.compact()
        let (found, hits) = await beside.result()
        guard case .done = await compaction else { throw TestFailure("not compacted") }
        // Most were answered while there were two files, and no deleted row was in either.
        #expect(found > 30)
        #expect(hits == 0)
        #expect(!Files.exists(copy))
        await store.close()
        #expect(try Soundness.check(place) == "ok")
        let again = try Store(opening: place.configuration)
        for number in 0..<Self.rows + 60 {
            let stored = await again.stored(number)
            if traces[number] != nil {
                #expect(stored == nil)
            } else {
                let version = changed.contains(number) ? 2 : 1
                #expect(stored?.token == Known.pushToken(number, version))
            }
        }
        let survey = try #require(await again.survey())
        #expect(survey.current + survey.previous == Self.rows + 60 - deleted.count)
        #expect(place.hits(traces.values.flatMap(\.columns)) == 0)
        await again.close()
    }

    @Test("stopped, or closed, it leaves no second file, and the next one begins anew")
    func stopped() async throws {
        let (place, store) = try await filled()
        let copy = place.configuration.databaseFile + ".new"
        store.when {
            Files.exists(copy)
        } then: {
            store.stopRotation()
        }
        guard case .rotated(let report) = await store.rotate() else {
            throw TestFailure("not rotated")
        }
        #expect(report.compaction == .stopped && report.generation == 3)
        #expect(!Files.exists(copy))
        let (waits, begun) = AsyncStream.makeStream(of: Void.self)
        store.when {
            Files.exists(copy)
        } then: {
            begun.finish()
        }
        let compaction = Task { await store.compact() }
        for await _ in waits {}
        await store.close()
        let outcome = await compaction.value
        if case .done = outcome {} else { #expect(outcome == .stopped) }
        #expect(!Files.exists(copy))
        let again = try Store(opening: place.configuration)
        guard case .done = await again.compact() else { throw TestFailure("not compacted") }
        for number in 0..<Self.rows / 2 { #expect(await again.stored(number) != nil) }
        #expect(await again.stored(Self.rows - 1) == nil)
        await again.close()
    }
}

/// Operations one after the other, each in a batch of its own, on the writer's thread: what a
/// compaction does comes between them.
private final class Beside: Sendable {
    private struct State {
        var next = 0
        /// Answers while there was a copy.
        var found = 0
        /// Traces of deleted rows in any file at the moment of the answer.
        var hits = 0
    }

    private let store: Store
    private let place: StorePlace
    private let copy: String
    private let traces: [Int: Traces]
    private let steps: [@Sendable () -> StoreOperation]
    private let state = Mutex(State())
    private let (ends, end) = AsyncStream.makeStream(of: Void.self)

    init(
        _ store: Store, _ place: StorePlace, copy: String, traces: [Int: Traces],
        _ steps: [@Sendable () -> StoreOperation]
    ) {
        self.store = store
        self.place = place
        self.copy = copy
        self.traces = traces
        self.steps = steps
    }

    /// Begins once there is a copy.
    func begin() {
        store.when { [copy] in
            Files.exists(copy)
        } then: {
            self.next()
        }
    }

    private func next() {
        let number = state.withLock { state in
            defer { state.next += 1 }
            return state.next
        }
        guard number < steps.count else { return end.finish() }
        let operation = steps[number]()
        store.submit(operation) { answer in
            let isThere = Files.exists(self.copy)
            var hits = answer == .done ? 0 : 1
            if case .delete(let token) = operation,
                let traces = self.traces.first(where: { Known.token($0.key) == token })?.value
            {
                hits += self.place.hits(traces.all)
            }
            self.state.withLock { state in
                state.hits += hits
                if isThere { state.found += 1 }
            }
            self.next()
        }
    }

    func result() async -> (found: Int, hits: Int) {
        for await _ in ends {}
        return state.withLock { ($0.found, $0.hits) }
    }
}

extension Store {
    /// Calls back on the writer's thread, between two batches, as soon as something is so. It asks
    /// again and again until then: what may pass is awaited before it begins.
    fileprivate func when(
        _ isSo: @escaping @Sendable () -> Bool, then body: @escaping @Sendable () -> Void
    ) {
        survey { _ in if isSo() { body() } else { self.when(isSo, then: body) } }
    }
}
