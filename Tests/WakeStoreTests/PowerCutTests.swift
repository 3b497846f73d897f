private import Glibc
import TestSupport
import Testing
import WakeFiles
import WakeStore

@Suite("A power cut during rotations", .timeLimit(.minutes(60)))
struct PowerCutTests {
    /// Every record of the trace with `REVEILLE_LONG=1`.
    private static let isLong = unsafe getenv("REVEILLE_LONG") != nil

    /// What a process did to the files of a store while it rotated them three times.
    private struct Trace {
        let place: StorePlace
        let start: DiskReplay
        let records: [DiskReplay.Record]

        init() async throws {
            place = StorePlace()
            try await place.create()
            start = DiskReplay(directories: [place.data, place.path + "/keys"])
            let path = place.path + "/trace"
            let worker = StoreWorkerProcess(
                "rotate", data: place.data, keys: place.keys, [0], trace: path)
            let lines = worker.lines()
            try #require(worker.finish() == 0 && lines.last?.hasPrefix("steps") == true)
            records = DiskReplay.records(StorePlace.bytes(of: path))
        }
    }

    @Test("only what was flushed survives: nothing acknowledged is lost, nothing dropped is back")
    func flushed() async throws {
        try await cut(.nothing)
    }

    @Test("anything of what was not flushed survives: the same")
    func anything() async throws {
        try await cut(.anything)
    }

    private func cut(_ survival: DiskReplay.Survival) async throws {
        let trace = try await Trace()
        #expect(trace.records.count > 300)
        let stride = Self.isLong ? 1 : max(1, trace.records.count / 80)
        // The keys of every generation, as they were written.
        var masters: [UInt64: [UInt8]] = [:]
        for record in trace.records where record.bytes.starts(with: "RVLLKEYS".utf8) {
            masters[UInt64(record.bytes[16])] = Array(record.bytes[24..<56])
        }
        #expect(masters.keys.sorted() == [2, 3, 4])
        var replay = trace.start
        var model = RotationModel()
        var cuts = 0
        for (index, record) in trace.records.enumerated() {
            replay.apply(record)
            if record.letter == "M" {
                for line in record.text.split(separator: "\n") { model.note(String(line)) }
            }
            guard index.isMultiple(of: stride) else { continue }
            cuts += 1
            let wrong = try await check(
                replay.image(survival), model, masters, from: trace.place)
            try #require(wrong.isEmpty, "cut after \(index): \(wrong)")
        }
        #expect(cuts >= 80)
    }

    @Test("the harness is not blind: with flushes of the database left out it sees losses")
    func control() async throws {
        let trace = try await Trace()
        var replay = trace.start
        var model = RotationModel()
        var keys: Set<UInt64> = []
        var losses = 0
        var cuts = 0
        for record in trace.records {
            if record.letter == "C" {
                // Numbers of files that are gone come again.
                keys.remove(record.inode)
                if record.text.contains("/keys/") { keys.insert(record.inode) }
            }
            let isDirectory = !trace.records.contains {
                $0.letter == "W" && $0.inode == record.inode
            }
            if record.letter != "S" || isDirectory || keys.contains(record.inode) {
                replay.apply(record)
            }
            guard record.letter == "M" else { continue }
            for line in record.text.split(separator: "\n") { model.note(String(line)) }
            guard record.text.hasPrefix("rotated") else { continue }
            cuts += 1
            let wrong = try await check(replay.image(.nothing), model, [:], from: trace.place)
            if !wrong.isEmpty { losses += 1 }
        }
        #expect(cuts == 3 && losses == 3)
    }

    /// Starts a store on what the cut left, and rotates it once more.
    private func check(
        _ image: [String: [UInt8]], _ before: RotationModel, _ masters: [UInt64: [UInt8]],
        from original: StorePlace
    ) async throws -> [String] {
        let place = StorePlace()
        try place.makeDirectories()
        unsafe chmod(place.data, 0o700)
        for (path, bytes) in image {
            let own = place.path + path.dropFirst(original.path.count)
            try Files.create(own, with: bytes.span)
        }
        var model = before
        let store: Store
        do throws(StoreOpenError) {
            store = try Store(opening: place.configuration)
        } catch {
            return ["refused to open: \(error)"]
        }
        var wrong = await model.compare(store, tokens: 0..<35)
        wrong += keys(place, store.generationNumber, masters)
        model.note("rotating")
        let report = try await store.rotated()
        model.note("rotated \(report.generation)")
        wrong += await model.compare(store, tokens: 0..<35)
        wrong += keys(place, store.generationNumber, masters)
        await store.close()
        return wrong
    }

    /// Keys of dropped generations in any file.
    private func keys(
        _ place: StorePlace, _ generation: UInt64, _ masters: [UInt64: [UInt8]]
    ) -> [String] {
        let dropped = masters.filter { $0.key + 2 <= generation }.values
        return [place.path + "/keys", place.data].flatMap { directory in
            StorePlace.names(in: directory).compactMap { name -> String? in
                let bytes = StorePlace.bytes(of: directory + "/" + name)
                return dropped.contains { StorePlace.contains(bytes, $0) }
                    ? "\(name) holds keys of a dropped generation" : nil
            }
        }
    }
}
