import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("A rotation drops what nobody renewed", .timeLimit(.minutes(5)))
struct RotationTests {
    @Test("what was current is previous and still opens; the number counts up")
    func once() async throws {
        let place = StorePlace()
        try await place.create(registrations: 40)
        let store = try Store(opening: place.configuration)
        #expect(store.generationNumber == 1)
        let report = try await store.rotated()
        #expect(report.generation == 2 && report.dropped == 0)
        #expect(store.generationNumber == 2)
        for number in 0..<40 {
            let stored = try #require(await store.stored(number))
            #expect(stored.generation == .previous)
            #expect(stored.token == Known.pushToken(number))
        }
        await store.close()
        let again = try Store(opening: place.configuration)
        #expect(again.generationNumber == 2)
        #expect(await again.stored(39)?.generation == .previous)
        await again.close()
    }

    @Test("a row untouched through two is gone from every file, one renewed in between is not")
    func twice() async throws {
        let place = StorePlace()
        try await place.create(registrations: 60)
        let store = try Store(opening: place.configuration)
        var traces: [Traces] = []
        for number in 0..<60 { traces.append(try #require(await Traces(number, store))) }
        #expect(place.hits(traces.map(\.id)) == 60)
        _ = try await store.rotated()
        #expect(place.hits(traces.map(\.id)) == 60)
        for number in 0..<20 {
            let renewal = StoreOperation.register(Known.token(number), Known.pushToken(number))
            #expect(await store.ask(renewal) == .done)
        }
        let report = try await store.rotated()
        #expect(report.dropped == 40)
        for number in 0..<60 {
            #expect(await store.stored(number)?.generation == (number < 20 ? .previous : nil))
        }
        #expect(place.hits(traces.flatMap(\.all)) == 0)
        await store.close()
        #expect(place.hits(traces.flatMap(\.all)) == 0)
        #expect(
            StorePlace.names(in: place.data).sorted()
                == ["generation-2.db", "generation-3.db", "reserve"])
        #expect(StorePlace.names(in: place.path + "/keys") == ["master"])
    }

    @Test("PUT, GET and DELETE do the same before, between and after rotations")
    func operations() async throws {
        let place = StorePlace()
        try await place.create(registrations: 30)
        let store = try Store(opening: place.configuration)
        for round in 1...4 {
            _ = try await store.rotated()
            let (kept, moved, deleted) = (round, 10 + round, 20 + round)
            let renewal = StoreOperation.register(Known.token(kept), Known.pushToken(kept))
            #expect(await store.ask(renewal) == .done)
            let move = StoreOperation.register(Known.token(moved), Known.pushToken(moved, 2))
            #expect(await store.ask(move) == .done)
            let before = await Traces(deleted, store)
            #expect(await store.ask(.delete(Known.token(deleted))) == .done)
            if let before { #expect(place.hits(before.all) == 0) }
            #expect(await store.stored(kept)?.generation == .current)
            #expect(await store.stored(moved)?.token == Known.pushToken(moved, 2))
            #expect(await store.stored(deleted) == nil)
        }
        await store.close()
    }

    @Test("a thief of disk and keys after two rotations can open nothing of what was dropped")
    func copied() async throws {
        let place = StorePlace()
        try await place.create(registrations: 4)
        let store = try Store(opening: place.configuration)
        var dropped: [StoredRegistration] = []
        for number in 0..<4 { dropped.append(try #require(await store.stored(number))) }
        // The control: the keys of now do open them, and so would either key that derives from
        // them, wherever it lay.
        let master = Array(StorePlace.bytes(of: place.keys)[24..<56])
        #expect(openable(dropped, place) == 4)
        let pepper = KeyMemory(master.span).derive(1, context: "rvllid__")
        let sealing = KeyMemory(master.span).derive(2, context: "rvllseal")
        for key in [pepper, sealing] {
            let bytes = key.withSpan { key in key.indices.map { key[$0] } }
            #expect(openable(dropped, with: bytes) == 4)
        }
        _ = try await store.rotated()
        #expect(openable(dropped, place) == 4)
        await store.fill(100..<112)
        _ = try await store.rotated()
        // While it runs, and afterwards.
        #expect(openable(dropped, place) == 0)
        await store.close()
        #expect(openable(dropped, place) == 0)
    }

    /// How many of the rows open with anything that lies in any file.
    private func openable(_ rows: [StoredRegistration], _ place: StorePlace) -> Int {
        [place.path + "/keys", place.data].flatMap { directory in
            StorePlace.names(in: directory).filter { $0 != "reserve" }.map {
                openable(rows, with: StorePlace.bytes(of: directory + "/" + $0))
            }
        }.reduce(0, max)
    }

    /// How many of the rows open with any 32 bytes of a file as master key, as the key that seals,
    /// or as the one that makes ids.
    private func openable(_ rows: [StoredRegistration], with file: [UInt8]) -> Int {
        var opened: Set<Int> = []
        for start in 0...max(0, file.count - 32) where file.count >= 32 {
            // Pages that are empty are no keys.
            if file[start] == 0, file[start..<start + 32].allSatisfy({ $0 == 0 }) { continue }
            let key = KeyMemory(file.span.extracting(start..<start + 32))
            let keys = GenerationKeys(master: key)
            for (index, row) in rows.enumerated() {
                let associated = [UInt8(StoreSchema.version)] + row.id
                let (id, sealed) = (row.id.span, row.sealed.span)
                if keys.open(sealed, id: id) == row.token || self.id(index, key) == row.id
                    || SealedBox.open(sealed, associated: associated.span, key: key) != nil
                {
                    opened.insert(index)
                }
            }
        }
        return opened.count
    }

    private func id(_ number: Int, _ pepper: KeyMemory) -> [UInt8] {
        let token = Known.token(number).bytes.copy()
        return pepper.withSpan { Blake2b.hash(token.span, count: 32, key: $0) }
    }

    @Test("the keys that were dropped are overwritten where they lay, not only renamed over")
    func overwritten() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        let store = try Store(opening: place.configuration)
        // Still has a name to look at the bytes by.
        let witness = try OpenFile(place.keys, flags: 0)
        #expect(try witness.read(at: 0, count: 200).count == KeyFile.byteCount)
        _ = try await store.rotated()
        #expect(
            try witness.read(at: 0, count: 200) == [UInt8](repeating: 0, count: KeyFile.byteCount))
        await store.close()
    }
}
