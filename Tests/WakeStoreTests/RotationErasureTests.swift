private import Glibc
import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("What a rotation drops is in no file", .timeLimit(.minutes(5)))
struct RotationErasureTests {
    @Test("DELETE and renewals beside a rotation erase, and lose nobody, whichever comes first")
    func meanwhile() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        let rows = 2000
        await store.fill(0..<rows)
        try await store.rotated()
        await store.fill(rows..<rows + 60)
        var traces: [Traces] = []
        for number in rows - 20..<rows + 20 {
            traces.append(try #require(await Traces(number, store)))
        }
        let rotation = Task { await store.rotate() }
        for (index, number) in (rows - 20..<rows + 20).enumerated() {
            #expect(await store.ask(.delete(Known.token(number))) == .done)
            #expect(place.hits(traces[index].all) == 0)
            #expect(await store.stored(number) == nil)
        }
        guard case .rotated(let report) = await rotation.value else {
            throw TestFailure("not rotated")
        }
        #expect((rows - 20...rows).contains(report.dropped))
        for number in rows + 20..<rows + 60 {
            #expect(await store.stored(number)?.generation == .previous)
        }
        #expect(place.hits(traces.flatMap(\.all)) == 0)
        await store.close()
    }

    @Test("a row that moves is read once, whatever is asked before the previous file loses it")
    func moving() async throws {
        let place = StorePlace()
        try await place.create(registrations: 40)
        let store = try Store(opening: place.configuration)
        try await store.rotated()
        let release = await store.held()
        for number in 0..<30 {
            store.submit(.register(Known.token(number), Known.pushToken(number, 2))) { _ in }
        }
        // Asked for in the same moment: the previous file still has the rows.
        async let previous = store.page(of: .previous, after: [])
        async let current = store.page(of: .current, after: [])
        release()
        #expect(await previous?.rows.count == 10)
        #expect(await current?.rows.count == 30)
        let row = try #require(await current?.rows.first)
        await store.removeIfUnchanged([(row: row.identity, generation: .current)])
        var left = 0
        for number in 0..<40 where await store.stored(number) != nil { left += 1 }
        #expect(left == 39)
        await store.close()
        let again = try Store(opening: place.configuration)
        #expect(await again.page(of: .previous, after: [])?.rows.count == 10)
        #expect(await again.page(of: .current, after: [])?.rows.count == 29)
        await again.close()
    }

    @Test("a rotation of many rows takes no longer than one of few, and needs no room for them")
    func fast() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        await store.fill(0..<20_000)
        try await store.rotated()
        let report = try await store.rotated()
        #expect(report.dropped > 18_000 && report.dropped < 22_000)
        #expect(report.milliseconds < 1000)
        #expect(store.configuration.fileBytes < 1 << 16)
        await store.close()
    }

    @Test("the search is not blind: dropped with secure_delete=OFF, rows stay in the pages")
    func control() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        await store.fill(0..<300)
        var traces: [Traces] = []
        for number in 0..<100 { traces.append(try #require(await Traces(number, store))) }
        await store.close()
        let database = try place.database()
        try database.execute("PRAGMA secure_delete=OFF; DELETE FROM registration")
        try database.checkpointTruncate()
        #expect(place.hits(traces.map(\.sealed)) > 50)
    }

    @Test("on a disk full to the last byte a rotation frees a file, and rows move and are taken")
    func fullDisk() throws {
        let place = StorePlace()
        try place.makeDirectories()
        let worker = StoreWorkerProcess("fullrotate", data: place.data, keys: place.keys)
        let lines = worker.lines()
        #expect(worker.finish() == 0)
        if lines.contains(where: { $0.hasPrefix("skipped") }) {
            try Test.cancel("needs the right to mount a tmpfs in a namespace of its own")
        }
        let later = lines.first { $0.hasPrefix("later ") }?.split(separator: " ").last
        #expect(Int(later ?? "") ?? 0 > 500, "\(lines)")
        #expect(lines.contains("dropped 0") && lines.contains("dropped 1000"), "\(lines)")
        // As many as the reserve has room for; with room on the disk every one.
        let moved = lines.first { $0.hasPrefix("moved ") }?.split(separator: " ").last
        #expect(Int(moved ?? "") ?? 0 > 500, "\(lines)")
        #expect(lines.contains("all \(later ?? "")"), "\(lines)")
        #expect(lines.suffix(2) == ["again done", "end"], "\(lines)")
    }

    @Test("a key file that cannot be replaced keeps its keys, and everything can still be opened")
    func keysUnwritable() async throws {
        let place = StorePlace()
        try await place.create(registrations: 10)
        let store = try Store(opening: place.configuration)
        try Files.makeDirectory(place.keys + ".tmp")
        let keys = StorePlace.bytes(of: place.keys)
        guard case .failed(.keysUnwritable) = await store.rotate() else {
            throw TestFailure("rotated")
        }
        #expect(StorePlace.bytes(of: place.keys) == keys)
        #expect(await store.stored(9)?.generation == .current)
        #expect(await store.ask(.register(Known.token(10), Known.pushToken(10))) == .done)
        try Files.rename(place.keys + ".tmp", to: place.keys + ".away")
        #expect(try await store.rotated().generation == 2)
        #expect(await store.stored(10)?.generation == .previous)
        await store.close()
    }

    @Test("a key file that somebody removed is written again from memory, and no row is lost")
    func keysRemoved() async throws {
        let place = StorePlace()
        try await place.create(registrations: 10)
        let store = try Store(opening: place.configuration)
        try Files.remove(place.keys)
        #expect(try await store.rotated().generation == 2)
        await store.close()
        let again = try Store(opening: place.configuration)
        #expect(await again.stored(9)?.generation == .previous)
        await again.close()
    }

    @Test("a key file that cannot take its name leaves no copy of the keys, and rows count once")
    func keysRefused() async throws {
        let place = StorePlace()
        try await place.create(registrations: 10)
        let store = try Store(opening: place.configuration)
        _ = try await store.rotated()
        let keys = StorePlace.bytes(of: place.keys)
        try Files.remove(place.keys)
        try Files.makeDirectory(place.keys + "/taken")
        guard case .failed(.keysUnwritable) = await store.rotate() else {
            throw TestFailure("rotated")
        }
        #expect(StorePlace.names(in: place.path + "/keys") == ["master"])
        #expect(unsafe rmdir(place.keys + "/taken") == 0 && rmdir(place.keys) == 0)
        try Files.create(place.keys, with: keys.span)
        #expect(try await store.rotated().dropped == 10)
        await store.close()
    }

    @Test("what a rotation that was cut short left beside the files is removed at the next start")
    func remnants() async throws {
        let place = StorePlace()
        try await place.create(registrations: 10)
        let remnants = ["2.db", "2.db.tmp", "7.db", "7.db-wal", "1.db-shm"].map {
            place.data + "/generation-" + $0
        }
        let bytes = StorePlace.bytes(of: place.file())
        for path in remnants { try Files.create(path, with: bytes.span) }
        try Files.create(place.keys + ".tmp", with: StorePlace.bytes(of: place.keys).span)
        let witness = try OpenFile(place.keys + ".tmp", flags: 0)
        let store = try Store(opening: place.configuration)
        #expect(remnants.allSatisfy { !Files.exists($0) } && !Files.exists(place.keys + ".tmp"))
        #expect(try witness.read(at: 0, count: 200).allSatisfy { $0 == 0 })
        #expect(await store.stored(3) != nil)
        await store.close()
    }
}

extension Store {
    /// Registers many tokens, many at a time.
    func fill(_ tokens: Range<Int>) async {
        await withTaskGroup(of: Void.self) { group in
            for lane in 0..<512 {
                group.addTask {
                    for number in stride(
                        from: tokens.lowerBound + lane, to: tokens.upperBound, by: 512)
                    {
                        _ = await self.ask(.register(Known.token(number), Known.pushToken(number)))
                    }
                }
            }
        }
    }
}
