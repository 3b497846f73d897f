private import Glibc
import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

/// What a process did to the files of a store, and what a power cut leaves after any step of it.
struct PowerCut {
    private let place: StorePlace
    private let start: DiskReplay
    let records: [DiskReplay.Record]
    /// The keys of every generation, as they were written.
    let masters: [UInt64: [UInt8]]
    /// What every token could be stored under, by its number.
    private let ids: [[[UInt8]]]

    /// - Parameters:
    ///   - mode: of the worker, with its numbers.
    ///   - setting: slipped into its store.
    ///   - isMade: whether the worker makes its store itself, on a disk of its own.
    ///   - prepare: changes the files before the worker starts.
    init(
        _ mode: String, _ numbers: [Int], slipping setting: String? = nil, isMade: Bool = false,
        prepare: (StorePlace) throws -> Void = { _ in }
    ) async throws {
        place = StorePlace()
        if isMade { try place.makeDirectories() } else { try await place.create() }
        try prepare(place)
        start = DiskReplay(directories: isMade ? [] : [place.data, place.path + "/keys"])
        let made = isMade ? nil : StorePlace.bytes(of: place.keys)
        let path = place.path + "/trace"
        let worker = StoreWorkerProcess(
            mode, data: place.data, keys: place.keys, numbers, trace: path, slipping: setting)
        let lines = worker.lines()
        if lines.contains(where: { $0.hasPrefix("skipped") }) {
            try Test.cancel("needs the right to mount a tmpfs in a namespace of its own")
        }
        try #require(worker.finish() == 0 && lines.last?.hasPrefix("steps") == true)
        records = DiskReplay.records(StorePlace.bytes(of: path))
        let written = records.first { $0.bytes.starts(with: "RVLLKEYS".utf8) }
        let first = try #require(made ?? written?.bytes)
        var masters: [UInt64: [UInt8]] = [0: Array(first[56..<88]), 1: Array(first[24..<56])]
        for record in records where record.bytes.starts(with: "RVLLKEYS".utf8) {
            masters[UInt64(record.bytes[16])] = Array(record.bytes[24..<56])
        }
        self.masters = masters
        let keys = masters.values.map { GenerationKeys(master: KeyMemory($0.span)) }
        ids = (0..<48).map { number in keys.map { $0.id(of: Known.token(number)) } }
    }

    /// Cuts after some of the steps.
    /// - Parameters:
    ///   - takesPlace: whether a step takes place at all.
    ///   - cut: what survives when the power is cut after the step of this number, nil for no cut.
    ///   - found: told about each cut what is wrong; it may throw to end it.
    /// - Returns: the model after the last step.
    @discardableResult
    func replay(
        tokens: Range<Int>, judgesKeys: Bool = true,
        _ takesPlace: (DiskReplay.Record) -> Bool = { _ in true },
        cut: (Int, DiskReplay.Record) -> DiskReplay.Survival?,
        found: (Int, [String]) throws -> Void
    ) async throws -> RotationModel {
        var replay = start
        var model = RotationModel()
        for (index, record) in records.enumerated() {
            if takesPlace(record) { replay.apply(record) }
            if record.letter == "M" {
                for line in record.text.split(separator: "\n") { model.note(String(line)) }
            }
            guard let survival = cut(index, record) else { continue }
            let wrong = try await check(replay.image(survival), model, tokens, judgesKeys)
            try found(index, wrong)
        }
        return model
    }

    /// What a cut leaves of deleted rows when a delete was just answered.
    /// - Parameter flushesCuts: whether a flush that follows the truncation of a file takes place.
    /// - Returns: how many such answers there were, and how many ids of rows that were deleted by
    ///   then lay in a file.
    func leftovers(
        _ survival: DiskReplay.Survival, flushesCuts: Bool = true
    ) -> (answers: Int, ids: Int) {
        var replay = start
        var model = RotationModel()
        var counts = (answers: 0, ids: 0)
        var cut: UInt64?
        for record in records {
            if record.letter == "T" { cut = record.inode }
            if record.letter == "W", record.inode == cut { cut = nil }
            let followsCut = record.letter == "S" && record.inode == cut
            if flushesCuts || !followsCut { replay.apply(record) }
            guard record.letter == "M" else { continue }
            let before = Set(model.deleted)
            for line in record.text.split(separator: "\n") { model.note(String(line)) }
            let deleted = Set(model.deleted)
            guard !deleted.isSubset(of: before) else { continue }
            counts.answers += 1
            let files = replay.image(survival).values
            counts.ids += deleted.flatMap { ids[$0] }.count { id in
                files.contains { $0.holds(id) }
            }
        }
        return counts
    }

    /// Starts a store on what the cut left, and rotates it once more.
    private func check(
        _ image: [String: [UInt8]], _ before: RotationModel, _ tokens: Range<Int>,
        _ judgesKeys: Bool
    ) async throws -> [String] {
        let place = StorePlace()
        try place.makeDirectories()
        unsafe chmod(place.data, 0o700)
        for (path, bytes) in image {
            let own = place.path + path.dropFirst(self.place.path.count)
            try Files.create(own, with: bytes.span)
        }
        var model = before
        let store: Store
        do throws(StoreOpenError) {
            store = try Store(opening: place.configuration)
        } catch {
            return ["refused to open: \(error)"]
        }
        var wrong = await model.compare(store, tokens: tokens)
        if judgesKeys {
            wrong += keys(place, store.generationNumber)
            wrong += await remnants(place, store)
        }
        model.note("rotating")
        let report = try await store.rotated()
        model.note("rotated \(report.generation)")
        wrong += await model.compare(store, tokens: tokens)
        if judgesKeys { wrong += keys(place, store.generationNumber) }
        await store.close()
        return wrong
    }

    /// Ids of rows that are not there, and yet in a file.
    private func remnants(_ place: StorePlace, _ store: Store) async -> [String] {
        let files = StorePlace.names(in: place.data).filter { $0 != "reserve" }
            .map { StorePlace.bytes(of: place.data + "/" + $0) }
        var wrong: [String] = []
        for (number, ids) in ids.enumerated() {
            let stored = await store.stored(number)
            for id in ids where id != stored?.id {
                guard files.contains(where: { $0.holds(id) }) else { continue }
                wrong.append("token \(number) left an id in a file")
            }
        }
        return wrong
    }

    /// Keys of dropped generations in any file.
    private func keys(_ place: StorePlace, _ generation: UInt64) -> [String] {
        let dropped = masters.filter { $0.key + 2 <= generation }.values
        return [place.path + "/keys", place.data].flatMap { directory in
            StorePlace.names(in: directory).compactMap { name -> String? in
                let bytes = StorePlace.bytes(of: directory + "/" + name)
                return dropped.contains { bytes.holds($0) }
                    ? "\(name) holds keys of a dropped generation" : nil
            }
        }
    }
}
