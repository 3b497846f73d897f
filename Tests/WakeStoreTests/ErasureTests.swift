import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("Forgotten means gone from every file", .timeLimit(.minutes(5)))
struct ErasureTests {
    @Test("when a delete is answered no file holds token, id, sealed bytes or push token")
    func delete() async throws {
        let place = StorePlace()
        try await place.create(registrations: 300)
        let store = try Store(opening: place.configuration)
        for number in stride(from: 0, to: 300, by: 7) {
            let traces = try #require(await Traces(number, store))
            #expect(place.hits(traces.columns) > 0)
            #expect(await store.ask(.delete(Known.token(number))) == .done)
            #expect(place.hits(traces.all) == 0)
        }
        await store.close()
    }

    @Test("soon after a renewal or a move the old row's bytes are gone, though nobody comes")
    func overwrite() async throws {
        let place = StorePlace()
        try await place.create(registrations: 100)
        let store = try Store(opening: place.configuration)
        for half in [0..<50, 50..<100] {
            var old: [[UInt8]] = []
            for number in half {
                let traces = try #require(await Traces(number, store))
                old += half.lowerBound == 0 ? [traces.sealed] : traces.columns
                let moved = StoreOperation.register(Known.token(number), Known.pushToken(number, 2))
                #expect(await store.ask(moved) == .done)
            }
            let emptied = store.timesEmptied
            if place.hits(old) > 0 {
                await store.emptiesLog(after: emptied)
            }
            #expect(place.hits(old) == 0)
            for name in StorePlace.names(in: place.data) where name.hasSuffix("-wal") {
                #expect(StorePlace.bytes(of: place.data + "/" + name).isEmpty)
            }
            // The second half is of another generation.
            try await store.rotated()
        }
        await store.close()
    }

    @Test("soon after a first registration the log is empty too: nobody sees who renews")
    func idleLog() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        for number in 1...3 {
            let emptied = store.timesEmptied
            #expect(await store.ask(.register(Known.token(number), Known.pushToken(1))) == .done)
            await store.emptiesLog(after: emptied)
        }
        await store.close()
    }

    @Test("in crowded batches too: 400 of 800 rows deleted while others register")
    func crowd() async throws {
        let place = StorePlace()
        try await place.create(registrations: 800)
        let reports = BatchReports()
        let store = try Store(opening: reports.observe(place.configuration))
        var traces: [Traces] = []
        for number in 0..<400 { traces.append(try #require(await Traces(number, store))) }
        let (answers, sink) = AsyncStream.makeStream(of: StoreAnswer.self)
        let release = await store.held()
        for number in 0..<400 {
            store.submit(.delete(Known.token(number))) { sink.yield($0) }
            store.submit(.register(Known.token(10_000 + number), Known.pushToken(1))) {
                sink.yield($0)
            }
        }
        release()
        var iterator = answers.makeAsyncIterator()
        for _ in 0..<800 { #expect(await iterator.next() == .done) }
        #expect(reports.largest > 1)
        // While the store is still open: the answers are out, so the bytes must be gone.
        #expect(place.hits(traces.flatMap(\.all)) == 0)
        await store.close()
        #expect(place.hits(traces.flatMap(\.all)) == 0)
    }

    @Test("a row never leaves its instance token or push token in the clear")
    func inTheClear() async throws {
        let place = StorePlace()
        try await place.create(registrations: 50)
        let store = try Store(opening: place.configuration)
        let secrets = (0..<50).flatMap { number in
            [Known.token(number).bytes.copy(), Known.pushToken(number).bytes.copy()]
        }
        #expect(place.hits(secrets) == 0)
        await store.close()
    }

    @Test("the search is not blind: without the settings it finds what was deleted")
    func control() async throws {
        let place = StorePlace()
        try await place.create(registrations: 100)
        let store = try Store(opening: place.configuration)
        var traces: [Traces] = []
        for number in 0..<50 { traces.append(try #require(await Traces(number, store))) }
        await store.close()
        let database = try place.database()
        // A log that is not emptied keeps the pages as they were before the delete.
        try database.execute("PRAGMA secure_delete=OFF; PRAGMA wal_autocheckpoint=0")
        let delete = try database.prepare("DELETE FROM registration WHERE id=?1")
        for trace in traces {
            try delete.bind(1, blob: trace.id.span)
            try delete.run()
        }
        #expect(place.hits(traces.map(\.sealed)) > 0)
        try database.checkpointTruncate()
        // And without secure_delete even the emptied log leaves rows in the pages.
        #expect(place.hits(traces.map(\.sealed)) > 0)
    }
}

/// Everything that could betray one registration.
struct Traces {
    let id: [UInt8]
    let sealed: [UInt8]
    let instanceToken: [UInt8]
    let pushToken: [UInt8]

    init?(_ number: Int, _ store: Store) async {
        guard let stored = await store.stored(number) else { return nil }
        id = stored.id
        sealed = stored.sealed
        instanceToken = Known.token(number).bytes.copy()
        pushToken = stored.token.bytes.copy()
    }

    var columns: [[UInt8]] { [id, sealed] }
    var all: [[UInt8]] { [id, sealed, instanceToken, pushToken] }
}

extension StorePlace {
    /// How many of the patterns occur in any file of the data directory: as they are, as
    /// hexadecimal of either case, or by any 24 bytes of a longer one.
    func hits(_ patterns: [[UInt8]]) -> Int {
        let files = StorePlace.names(in: data).map { StorePlace.bytes(of: data + "/" + $0) }
        return patterns.count { pattern in
            let hex = Hex.encode(pattern.span)
            let upper = hex.map { $0 >= UInt8(ascii: "a") ? $0 - 32 : $0 }
            var forms = [pattern, hex, upper]
            if pattern.count > 48 {
                for start in stride(from: 0, to: pattern.count - 24, by: 24) {
                    forms.append(Array(pattern[start..<start + 24]))
                }
            }
            return files.contains { file in forms.contains { file.holds($0) } }
        }
    }
}
