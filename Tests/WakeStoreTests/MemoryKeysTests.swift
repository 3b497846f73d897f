import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("With keys in memory a restart makes noise of the store", .timeLimit(.minutes(5)))
struct MemoryKeysTests {
    private func configuration(_ place: StorePlace) -> StoreConfiguration {
        var configuration = place.configuration
        configuration.keyFile = nil
        return configuration
    }

    @Test("everything works while it runs, and the next start is empty, to the last byte")
    func restart() async throws {
        let place = StorePlace()
        let configuration = configuration(place)
        try Store.create(configuration)
        let store = try Store(opening: configuration)
        await store.fill(0..<50)
        let first = store.generationNumber
        var traces: [Traces] = []
        for number in 0..<50 { traces.append(try #require(await Traces(number, store))) }
        try await store.rotated()
        #expect(store.generationNumber == first + 1)
        #expect(await store.ask(.register(Known.token(0), Known.pushToken(0))) == .done)
        #expect(await store.stored(0)?.generation == .current)
        #expect(await store.stored(49)?.generation == .previous)
        await store.close()
        #expect(!Files.exists(place.path + "/keys"))

        let again = try Store(opening: configuration)
        #expect(again.counters.strayRows.load(ordering: .relaxed) == 50)
        #expect(again.generationNumber != first && again.generationNumber != first + 1)
        for number in 0..<50 { #expect(await again.stored(number) == nil) }
        #expect(place.hits(traces.flatMap(\.all)) == 0)
        #expect(await again.page(of: .current, after: [])?.rows.isEmpty == true)
        #expect(await again.page(of: .previous, after: [])?.rows.isEmpty == true)
        // Clients come back with their next renewal.
        #expect(await again.ask(.register(Known.token(7), Known.pushToken(7))) == .done)
        #expect(await again.stored(7) != nil)
        await again.close()
        let names = [again.generationNumber - 1, again.generationNumber].map {
            "generation-\($0).db"
        }
        #expect(StorePlace.names(in: place.data).sorted() == names.sorted() + ["reserve"])
    }

    @Test("a database of another program is refused as ever, and not emptied")
    func foreign() async throws {
        let place = StorePlace()
        let configuration = configuration(place)
        try Store.create(configuration)
        try place.database().execute("PRAGMA application_id=77")
        let bytes = StorePlace.bytes(of: place.file())
        #expect(throws: StoreOpenError.foreignApplication(77)) {
            try Store(opening: configuration)
        }
        #expect(StorePlace.bytes(of: place.file()) == bytes)
    }

    @Test("surveys count small generations and estimate large ones to some per cent")
    func survey() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        await store.fill(0..<100)
        try await store.rotated()
        await store.fill(100..<9100)
        let survey = try #require(await store.survey())
        #expect(survey.previous == 100)
        #expect((8000...10_000).contains(survey.current))
        #expect(survey.generation == 2)
        await store.close()
    }
}
