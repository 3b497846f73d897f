import TestSupport
import Testing

@Suite("A store on a disk that others have filled", .timeLimit(.minutes(5)))
struct CrowdedDiskTests {
    /// The counts that a worker reports, by their words.
    private func report(_ number: Int) throws -> [Substring: [Substring]] {
        let place = StorePlace()
        try place.makeDirectories()
        let worker = StoreWorkerProcess("crowded", data: place.data, keys: place.keys, [number])
        var report: [Substring: [Substring]] = [:]
        for line in worker.lines() {
            let words = line.split(separator: " ", maxSplits: 1)
            report[words[0], default: []].append(words.count > 1 ? words[1] : "")
        }
        #expect(worker.finish() == 0)
        if report["skipped"] != nil {
            try Test.cancel("needs the right to mount a tmpfs in a namespace of its own")
        }
        #expect(report["end"] != nil)
        return report
    }

    @Test("generations turn with their keys; after two rotations the file is small, rows are taken")
    func rotated() throws {
        let report = try report(0)
        let registered = try #require(report["registered"]?.first)
        #expect(Int(registered) ?? 0 > 3000)
        // Rows do not take the last of it: a broadcast needs some. An eighth of the reserve is left
        // when a batch begins; what that batch writes comes off it.
        #expect(report["hog"]?.first.flatMap { Int($0) } ?? 0 >= 1 << 15)
        #expect(report["dropped"]?.count == 2 && report["unrotated"] == nil)
        #expect(report["dropped"]?.last.flatMap { Int($0) } ?? 0 > 3000)
        #expect(report["file"] == ["small"])
        #expect(report["again"] == ["600"])
    }

    @Test("a store that was killed opens, and every delete works")
    func killed() throws {
        let report = try report(1)
        #expect(report["log"] == ["used"])
        #expect(report["deleted"] != nil && report["deleted"] == report["registered"])
        #expect(report["left"] == ["0"])
    }

    @Test("beside a process that takes every free byte at once every delete works, and a rotation")
    func beside() throws {
        let report = try report(2)
        #expect(report["deleted"] == ["600"] && report["left"] == ["0"])
        #expect(report["unrotated"] == nil)
    }

    @Test("a process that takes what is free before a new file is written to stops no rotation")
    func outrun() throws {
        let report = try report(3)
        #expect(report["registered"] == ["600"])
        #expect(report["dropped"]?.count == 1 && report["unrotated"] == nil)
    }
}
