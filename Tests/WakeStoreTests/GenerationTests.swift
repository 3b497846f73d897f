import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("A registration of the previous generation", .timeLimit(.minutes(5)))
struct GenerationTests {
    private func turn(_ place: StorePlace) async throws {
        let store = try Store(opening: place.configuration)
        try await store.rotated()
        await store.close()
    }

    @Test("is read back as previous")
    func read() async throws {
        let place = StorePlace()
        try await place.create(registrations: 2)
        try await turn(place)
        let store = try Store(opening: place.configuration)
        let stored = try #require(await store.stored(1))
        #expect(stored.generation == .previous)
        #expect(stored.token == Known.pushToken(1))
        await store.close()
    }

    @Test("moves to the current one when renewed, and its old row is in no file")
    func renew() async throws {
        let place = StorePlace()
        try await place.create(registrations: 2)
        try await turn(place)
        let store = try Store(opening: place.configuration)
        let before = try #require(await Traces(1, store))
        let emptied = store.timesEmptied
        #expect(await store.ask(.register(Known.token(1), Known.pushToken(1))) == .done)
        let stored = try #require(await store.stored(1))
        #expect(stored.generation == .current)
        #expect(stored.id != before.id)
        await store.emptiesLog(after: emptied)
        #expect(place.hits(before.columns) == 0)
        #expect(await store.page(of: .previous, after: [])?.rows.count == 1)
        await store.close()
    }

    @Test("is forgotten by a delete, and so is one in both")
    func delete() async throws {
        let place = StorePlace()
        try await place.create(registrations: 2)
        try await turn(place)
        let store = try Store(opening: place.configuration)
        let traces = try #require(await Traces(1, store))
        #expect(await store.ask(.delete(Known.token(1))) == .done)
        #expect(await store.stored(1) == nil)
        #expect(place.hits(traces.all) == 0)
        #expect(await store.stored(0) != nil)
        await store.close()
    }

    @Test("has an id that cannot be joined with that of another generation")
    func ids() {
        let first = GenerationKeys(master: KeyMemory.random())
        let second = GenerationKeys(master: KeyMemory.random())
        #expect(first.id(of: Known.token(1)) == first.id(of: Known.token(1)))
        #expect(first.id(of: Known.token(1)) != first.id(of: Known.token(2)))
        #expect(first.id(of: Known.token(1)) != second.id(of: Known.token(1)))
    }

    @Test("opens under its own id and keys only, and not with any bit changed")
    func sealing() throws {
        let keys = GenerationKeys(master: KeyMemory.random())
        let id = keys.id(of: Known.token(1))
        let sealed = keys.seal(Known.pushToken(1), id: id)
        #expect(keys.open(sealed.span, id: id.span) == Known.pushToken(1))
        let other = keys.id(of: Known.token(2))
        #expect(keys.open(sealed.span, id: other.span) == nil)
        let otherKeys = GenerationKeys(master: KeyMemory.random())
        #expect(otherKeys.open(sealed.span, id: id.span) == nil)
        for bit in stride(from: 0, to: sealed.count * 8, by: 5) {
            var changed = sealed
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(keys.open(changed.span, id: id.span) == nil)
        }
        for count in [0, 1, 39, 40, 551] {
            #expect(keys.open(sealed.span.extracting(0..<count), id: id.span) == nil)
        }
    }
}
