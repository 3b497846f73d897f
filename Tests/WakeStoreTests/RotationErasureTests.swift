private import Glibc
import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeSQLite
import WakeStore
import WakeSystem

@Suite("What a rotation drops is in no file", .timeLimit(.minutes(5)))
struct RotationErasureTests {
    @Test("a DELETE that is answered while a rotation erases has erased, and so has a renewal")
    func meanwhile() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        let rows = 3 * Limits.stepRows
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

    @Test(
        "a rotation that is told to stop stops, loses nothing of what it keeps, and goes on later")
    func stopped() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        // More than three steps erase, each larger than the one before.
        let rows = 10 * Limits.stepRows
        await store.fill(0..<rows)
        try await store.rotated()
        await store.fill(rows..<rows + 40)
        let (outcomes, sink) = AsyncStream.makeStream(of: RotationOutcome.self)
        store.rotate { sink.yield($0) }
        // Asked for and stopped between two slices, on the writer's thread.
        store.whenErasing {
            store.rotate { sink.yield($0) }
            store.survey { _ in store.stopRotation() }
        }
        var iterator = outcomes.makeAsyncIterator()
        #expect(await iterator.next() == .failed(.running))
        #expect(await iterator.next() == .failed(.stopped))
        #expect(store.generationNumber == 2)
        for number in rows..<rows + 40 {
            #expect(await store.stored(number)?.generation == .current)
        }
        // The same by closing, before the rotation has got far: jobs of an executor with one thread
        // run one after the other.
        let release = await store.held()
        store.rotate { sink.yield($0) }
        let executor = BlockingExecutor()
        let closing = Task(executorPreference: executor) { await store.close() }
        Task(executorPreference: executor) { release() }
        await closing.value
        guard case .failed = await iterator.next() else { throw TestFailure("not stopped") }
        let again = try Store(opening: place.configuration)
        #expect(try await again.rotated().dropped < rows)
        for number in rows..<rows + 40 {
            #expect(await again.stored(number)?.generation == .previous)
        }
        #expect(await again.stored(0) == nil && again.generationNumber == 3)
        await again.close()
    }

    @Test("without room to write the database anew rows and keys go all the same")
    func putOff() async throws {
        let place = StorePlace()
        try await place.create()
        var configuration = place.configuration
        configuration.spareBytes = 1 << 50
        // Nothing to borrow.
        configuration.reserveBytes = 0
        let store = try Store(opening: configuration)
        await store.fill(0..<1500)
        var traces: [Traces] = []
        for number in 0..<100 { traces.append(try #require(await Traces(number, store))) }
        let keys = StorePlace.bytes(of: place.keys)
        try await store.rotated()
        let size = StorePlace.bytes(of: configuration.databaseFile).count
        let report = try await store.rotated()
        #expect(report.dropped == 1500)
        guard case .noRoom(let needed, let free) = report.compaction else {
            throw TestFailure("\(report.compaction)")
        }
        #expect(needed > 1 << 50 && free > 0 && free < 1 << 50)
        #expect(StorePlace.bytes(of: configuration.databaseFile).count == size)
        #expect(place.hits(traces.flatMap(\.all)) == 0)
        #expect(!StorePlace.bytes(of: place.keys).holds(Array(keys[24..<56])))
        await store.close()
        // Later, with room.
        let again = try Store(opening: place.configuration)
        guard case .done(let bytes, _) = await again.compact() else {
            throw TestFailure("not compacted")
        }
        #expect(bytes < size / 50)
        #expect(place.hits(traces.flatMap(\.all)) == 0)
        await again.close()
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
        try database.execute("PRAGMA secure_delete=OFF; DELETE FROM registration_a")
        try database.checkpointTruncate()
        #expect(place.hits(traces.map(\.sealed)) > 50)
    }

    @Test("on a disk full to the last byte a rotation erases, and writes anew once there is room")
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
        #expect(lines.contains("dropped 0 compacted"), "\(lines)")
        #expect(lines.contains("dropped 1000 putoff"), "\(lines)")
        #expect(lines.contains("compaction done smaller"), "\(lines)")
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
        let remnants = ["", "-wal", "-journal"].map {
            place.configuration.databaseFile + ".new" + $0
        }
        let bytes = StorePlace.bytes(of: place.configuration.databaseFile)
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

extension Store {
    /// Calls `body` on the writer's thread as soon as a rotation has erased rows.
    fileprivate func whenErasing(_ body: @escaping @Sendable () -> Void) {
        survey { _ in
            if self.counters.expired.load(ordering: .relaxed) == 0 {
                self.whenErasing(body)
            } else {
                body()
            }
        }
    }
}
