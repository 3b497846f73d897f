import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("A broadcast walks the rows in pages", .timeLimit(.minutes(5)))
struct PageTests {
    @Test(
        "every row once, in the order of ids, whatever the size of a page", arguments: [1, 7, 500])
    func walk(_ limit: Int) async throws {
        let place = StorePlace()
        try await place.create(registrations: 60)
        let store = try Store(opening: place.configuration)
        var rows: [StoreRow] = []
        var after: [UInt8] = []
        while true {
            let page = try #require(await store.page(of: .current, after: after, limit: limit))
            #expect(page.rows.count <= limit)
            rows += page.rows
            guard let last = page.last else { break }
            after = last
        }
        #expect(rows.count == 60)
        #expect(rows.map(\.id) == rows.map(\.id).sorted { $0.lexicographicallyPrecedes($1) })
        let texts = Set(rows.map { $0.token.bytes.copy() })
        #expect(texts == Set((0..<60).map { Known.pushToken($0).bytes.copy() }))
        #expect(await store.page(of: .previous, after: [])?.last == nil)
        await store.close()
    }

    @Test("a row read and then renewed is not removed; one left alone is, from every file")
    func removeIfUnchanged() async throws {
        let place = StorePlace()
        try await place.create(registrations: 2)
        let store = try Store(opening: place.configuration)
        let rows = try #require(await store.page(of: .current, after: [])).rows
        let gone = try #require(await store.stored(1))
        #expect(await store.ask(.register(Known.token(0), Known.pushToken(0))) == .done)
        await store.removeIfUnchanged(rows.map { (row: $0.identity, generation: .current) })
        #expect(await store.stored(0)?.token == Known.pushToken(0))
        #expect(await store.stored(1) == nil)
        #expect(place.hits([gone.id, gone.sealed]) == 0)
        await store.close()
    }
}
