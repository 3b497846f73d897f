private import Glibc
import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("A power cut", .timeLimit(.minutes(60)))
struct PowerCutTests {
    /// Every step, and 1,000 cuts of mixed operations, with `REVEILLE_LONG=1`.
    private static let isLong = unsafe getenv("REVEILLE_LONG") != nil

    @Test("only what was flushed survives: nothing acknowledged is lost, nothing dropped is back")
    func flushed() async throws {
        try await cut(.nothing)
    }

    @Test("anything of what was not flushed survives: the same")
    func anything() async throws {
        try await cut(.anything)
    }

    /// Three rotations with a little between them.
    private func cut(_ survival: DiskReplay.Survival) async throws {
        let power = try await PowerCut("rotate", [0])
        #expect(power.records.count > 300)
        #expect(power.masters.keys.sorted() == [0, 1, 2, 3, 4])
        let stride = Self.isLong ? 1 : max(1, power.records.count / 80)
        var cuts = 0
        try await power.replay(tokens: 0..<35) { index, _ in
            index.isMultiple(of: stride) ? survival : nil
        } found: { index, wrong in
            cuts += 1
            try #require(wrong.isEmpty, "cut after \(index): \(wrong)")
        }
        #expect(cuts >= 80)
    }

    @Test("among registrations, renewals, deletes and rotations: none lost, nobody deleted is back")
    func mixed() async throws {
        let (runs, each) = Self.isLong ? (4, 250) : (1, 80)
        var cuts = 0
        for seed in 1...runs {
            let power = try await PowerCut("mixed", [seed, Self.isLong ? 54 : 27])
            var random = SystemRandomNumberGenerator()
            let places = Set(power.records.indices.shuffled(using: &random).prefix(each))
            let model = try await power.replay(tokens: 0..<48) { index, _ in
                guard places.contains(index) else { return nil }
                return Bool.random(using: &random) ? .nothing : .anything
            } found: { index, wrong in
                cuts += 1
                try #require(wrong.isEmpty, "run \(seed), cut after \(index): \(wrong)")
            }
            #expect(model.acknowledged > 27 * 16 && model.rotations >= 3)
            #expect(model.others == [] && model.refusals == [:])
        }
        #expect(cuts == runs * each)
    }

    @Test("when a delete is answered a cut leaves no row that was deleted, in no file")
    func erased() async throws {
        let power = try await PowerCut("mixed", [2, Self.isLong ? 270 : 27])
        for survival in [DiskReplay.Survival.nothing, .anything] {
            let left = power.leftovers(survival)
            #expect(left.answers > 27 && left.ids == 0, "\(left)")
        }
    }

    @Test("the same with what a killed rotation has left")
    func remnant() async throws {
        let power = try await PowerCut("mixed", [2, 27]) { place in
            let master = StorePlace.bytes(of: place.keys)[24..<56]
            let keys = GenerationKeys(master: KeyMemory(master.span))
            let rows = (0..<48).flatMap { keys.id(of: Known.token($0)) }
            try Files.create(place.file(2), with: rows.span)
            try Files.create(place.file() + "-wal", with: [UInt8]().span)
        }
        let left = power.leftovers(.nothing)
        #expect(left.answers > 27 && left.ids == 0, "\(left)")
    }

    @Test("the same on a full disk, while the log has room of the reserve's")
    func lent() async throws {
        let power = try await PowerCut("mixed", [3, Self.isLong ? 135 : 27, 1], isMade: true)
        // How a log that is lent room is emptied: its header is overwritten. Deletes that are
        // committed together, which is a matter of the machine's load, empty it once.
        let header = [UInt8](repeating: 0, count: 32)
        let erased = power.records.count { $0.letter == "W" && $0.bytes == header }
        #expect(erased > 0)
        for survival in [DiskReplay.Survival.nothing, .anything] {
            let left = power.leftovers(survival)
            #expect(left.answers > 0 && left.ids == 0, "\(left)")
        }
        let opened = try #require(power.records.firstIndex { $0.text.hasPrefix("open") })
        let stride = Self.isLong ? 3 : max(1, power.records.count / 80)
        var random = SystemRandomNumberGenerator()
        let model = try await power.replay(tokens: 0..<48) { index, _ in
            guard index > opened, index.isMultiple(of: stride) else { return nil }
            return Bool.random(using: &random) ? .nothing : .anything
        } found: { index, wrong in
            try #require(wrong.isEmpty, "cut after \(index): \(wrong)")
        }
        #expect(model.acknowledged > 100 && model.rotations > 1 && model.others == [])
        #expect(model.refusals["full"] ?? 0 > 0, "\(model.refusals)")
    }

    @Test("nor with the flush of the emptied log left out: it finds deleted rows")
    func emptiedLog() async throws {
        let power = try await PowerCut("mixed", [2, 27])
        #expect(power.leftovers(.nothing, flushesCuts: false).ids > 0)
    }

    @Test("the harness is not blind: with synchronous=NORMAL it sees acknowledged writes lost")
    func normal() async throws {
        let power = try await PowerCut("mixed", [1, 27], slipping: "synchronous=NORMAL")
        var (cuts, losses, lost) = (0, 0, 0)
        let stride = power.records.count / 80
        try await power.replay(tokens: 0..<48, judgesKeys: false) { index, _ in
            index.isMultiple(of: stride) ? .nothing : nil
        } found: { _, wrong in
            cuts += 1
            let absent = wrong.count { $0.contains("is absent") }
            losses += absent > 0 ? 1 : 0
            lost += absent
        }
        #expect(cuts >= 80 && losses > 2 && lost > losses, "\(losses) of \(cuts): \(lost)")
    }

    @Test("nor with flushes of the database left out")
    func control() async throws {
        let power = try await PowerCut("rotate", [0])
        var keys: Set<UInt64> = []
        var losses = 0
        var cuts = 0
        let files = Set(power.records.filter { $0.letter == "W" }.map(\.inode))
        try await power.replay(tokens: 0..<35, judgesKeys: false) { record in
            if record.letter == "C" {
                // Numbers of files that are gone come again.
                keys.remove(record.inode)
                if record.text.contains("/keys/") { keys.insert(record.inode) }
            }
            let isDirectory = !files.contains(record.inode)
            return record.letter != "S" || isDirectory || keys.contains(record.inode)
        } cut: { _, record in
            record.letter == "M" && record.text.hasPrefix("rotated") ? .nothing : nil
        } found: { _, wrong in
            cuts += 1
            if !wrong.isEmpty { losses += 1 }
        }
        #expect(cuts == 3 && losses == 3)
    }
}
