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

    @Test(
        "a page of ranges ends where it is full, and says where the next begins",
        arguments: [1, 2, 7, 500])
    func ranges(_ limit: Int) async throws {
        let place = StorePlace()
        try await place.create(registrations: 60)
        let store = try Store(opening: place.configuration)
        let all = try #require(await store.page(of: .current, after: [])).rows.map(\.id)
        // Quarters of all ids in another order, one without an id, and not the last sixteenth.
        let bounds: [(UInt8, UInt8)] = [(128, 191), (0, 63), (64, 64), (192, 239), (65, 127)]
        let ranges = bounds.map { first, last in
            IDRange(
                after: first == 0 ? [] : [first - 1] + [UInt8](repeating: 255, count: 31),
                through: [last] + [UInt8](repeating: 255, count: 31))
        }
        var left = ranges
        var read: [[UInt8]] = []
        while !left.isEmpty {
            let page = try #require(await store.page(of: .current, in: left, limit: limit))
            #expect(page.rows.count <= limit)
            read += page.rows.map(\.id)
            left.removeFirst(page.ranges)
            guard let last = page.last else {
                #expect(left.isEmpty)
                break
            }
            #expect(page.rows.count == limit && last == read.last)
            left[0] = IDRange(after: last, through: left[0].through)
        }
        #expect(read == bounds.flatMap { first, last in all.filter { first...last ~= $0[0] } })
        #expect(read.count > 40 && read.count < 60)
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
