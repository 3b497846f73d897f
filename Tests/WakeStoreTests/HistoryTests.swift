import TestSupport
import Testing
import WakeModel
import WakeSQLite
import WakeSodium
import WakeStore
import WakeSystem

@Suite("A rotated file tells its rows and nothing of how they came", .timeLimit(.minutes(5)))
struct HistoryTests {
    private typealias Row = (id: [UInt8], sealed: [UInt8])

    @Test("the same rows by different histories make the same file, to the byte")
    func histories() async throws {
        let keys = try await commonKeys()
        let rows = rows(700, sealedWith: keys)
        let first = try await file(rows, keys)
        #expect(first.count > 700 * 584)
        #expect(try await file(rows.reversed(), keys) == first)
        #expect(try await file(rows.shuffled(), keys, others: 900) == first)
        // After many a rotation, commit and delete of others: no counter in the header tells.
        #expect(try await file(rows.shuffled(), keys, others: 300, rotations: 4) == first)
    }

    @Test("the comparison is not blind: before the rotation the files differ")
    func control() async throws {
        let keys = try await commonKeys()
        let rows = rows(700, sealedWith: keys)
        let (one, other) = (StorePlace(), StorePlace())
        try await fill(one, rows, keys, others: 0, rotations: 0)
        try await fill(other, rows.shuffled(), keys, others: 300, rotations: 0)
        #expect(
            StorePlace.bytes(of: one.configuration.databaseFile)
                != StorePlace.bytes(of: other.configuration.databaseFile))
    }

    /// A key file in which `registration_a` is current.
    private func commonKeys() async throws -> [UInt8] {
        let place = StorePlace()
        try await place.create()
        return StorePlace.bytes(of: place.keys)
    }

    private func rows(_ count: Int, sealedWith file: [UInt8]) -> [Row] {
        let keys = GenerationKeys(master: KeyMemory(file.span.extracting(24..<56)))
        return (0..<count).map { number in
            let id = keys.id(of: Known.token(number))
            return (id, keys.seal(Known.pushToken(number), id: id))
        }
    }

    /// The database after a rotation in which the rows were current.
    private func file(
        _ rows: [Row], _ keys: [UInt8], others: Int = 0, rotations: Int = 0
    ) async throws -> [UInt8] {
        let place = StorePlace()
        try await fill(place, rows, keys, others: others, rotations: rotations)
        let store = try Store(opening: place.configuration)
        #expect(try await store.rotated().dropped == 0)
        #expect(await store.stored(rows.count - 1)?.generation == .previous)
        await store.close()
        return StorePlace.bytes(of: place.configuration.databaseFile)
    }

    /// A store with these rows, written in this order among others that are deleted again.
    private func fill(
        _ place: StorePlace, _ rows: [Row], _ keys: [UInt8], others: Int, rotations: Int
    ) async throws {
        try await place.create(registrations: others / 9)
        if rotations > 0 {
            let store = try Store(opening: place.configuration)
            for _ in 0..<rotations { try await store.rotated() }
            await store.close()
        }
        try Files.replace(place.keys, with: keys.span)
        let database = try place.database()
        try StoreSetting.apply(to: database)
        try database.execute("DELETE FROM registration_a")
        let insert = try database.prepare("INSERT INTO registration_a VALUES(?1,?2)")
        func write(_ row: Row) throws {
            try insert.bind(1, blob: row.id.span)
            try insert.bind(2, blob: row.sealed.span)
            try insert.run()
        }
        var strays: [Row] = (0..<others).map { _ in (Sodium.random(32), Sodium.random(632)) }
        let between = others / rows.count + 1
        var left = strays[...]
        for row in rows {
            try write(row)
            for stray in left.prefix(between) { try write(stray) }
            left = left.dropFirst(between)
        }
        let delete = try database.prepare("DELETE FROM registration_a WHERE id=?1")
        strays.removeLast(left.count)
        for stray in strays.shuffled() {
            try delete.bind(1, blob: stray.id.span)
            try delete.run()
        }
        try database.checkpointTruncate()
    }
}
