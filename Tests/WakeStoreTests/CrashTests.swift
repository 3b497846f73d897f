private import Glibc
import TestSupport
import Testing
import WakeStore
import WakeSystem

@Suite("A killed store loses nothing it acknowledged", .timeLimit(.minutes(30)))
struct CrashTests {
    /// More with `REVEILLE_LONG=1`.
    private static let kills = unsafe getenv("REVEILLE_LONG") == nil ? 50 : 5000

    @Test("kill -9 at any moment: no acknowledged write lost, no deleted row back or in a file")
    func kill() async throws {
        let place = StorePlace()
        try await place.create()
        var model = AcknowledgedModel()
        var (gone, seen) = (0, 0)
        var random = SystemRandomNumberGenerator()
        let tokens = 24
        for run in 1...Self.kills {
            let worker = StoreWorkerProcess(
                "churn", data: place.data, keys: place.keys, [run, tokens])
            try #require(worker.line() == "open")
            for _ in 0..<Int.random(in: 1...400, using: &random) {
                model.note(try #require(worker.line()))
            }
            #expect(worker.kill() == 128 + SIGKILL)
            for line in worker.lines() { model.note(line) }
            let left = place.left(of: model.deleted)
            try #require(left == [], "run \(run): ids of tokens \(left) in a file")
            gone += model.deleted.count
            seen += place.left(of: model.stored).count
            if run % 10 == 0 { #expect(try Soundness.check(place) == "ok") }
            let store = try Store(opening: place.configuration)
            let wrong = await model.compare(store, tokens: 0..<2 * tokens)
            await store.close()
            try #require(wrong.isEmpty, "run \(run): rows of tokens \(wrong)")
        }
        #expect(model.acknowledged > Self.kills * 10)
        #expect(model.refusals.isEmpty)
        // The search is not blind: what is stored is in a file.
        #expect(gone > 5 * Self.kills && seen > 0, "\(gone) searched, \(seen) stored")
    }

    @Test("a store killed at once is open again within a second")
    func restart() async throws {
        let place = StorePlace()
        try await place.create(registrations: 100)
        // What a busy machine adds is not there every time; a lock that is waited for is.
        var fastest = Duration.seconds(3600)
        for run in 1...20 where fastest >= .seconds(1) {
            let worker = StoreWorkerProcess("churn", data: place.data, keys: place.keys, [run, 64])
            for _ in 0..<1000 { _ = worker.line() }
            _ = worker.kill()
            let start = ContinuousClock.now
            let store = try Store(opening: place.configuration)
            fastest = min(fastest, ContinuousClock.now - start)
            await store.close()
        }
        #expect(fastest < .seconds(1))
    }
}
