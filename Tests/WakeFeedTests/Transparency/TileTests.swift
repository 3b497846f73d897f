import TestSupport
import Testing
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Tiles (C2SP tlog-tiles)")
struct TileTests {
    @Test("paths, from the specification")
    func paths() throws {
        let known: [(LogTile, String)] = [
            (LogTile(.hashes(level: 0), index: 0), "tile/0/000"),
            (LogTile(.hashes(level: 0), index: 1_234_067), "tile/0/x001/x234/067"),
            (LogTile(.hashes(level: 1), index: 999, width: 1), "tile/1/999.p/1"),
            (LogTile(.hashes(level: 63), index: 1000, width: 255), "tile/63/x001/000.p/255"),
            (LogTile(.entries, index: 273, width: 112), "tile/entries/273.p/112"),
        ]
        for (tile, path) in known {
            #expect(tile.path == path)
            #expect(LogTile(path: path) == tile)
        }
        for path in [
            "", "tile", "tile/0", "tile/0/0", "tile/0/00", "tile/0/0000", "tile/00/000",
            "tile/64/000", "tile/-1/000", "tile/0/x000/000", "tile/0/001/000", "tile/0/x001",
            "tile/0/x01/000", "tile/0/000.p/0", "tile/0/000.p/256", "tile/0/000.p/01",
            "tile/0/000.p", "tile/0/000.p/", "tile/0/000/", "/tile/0/000", "tile/0/000.p/1/2",
            "tile/entry/000", "tile/0/x001.p/1", "tile/0/..", "tile/0/x../000", "tile/0/+12",
            "tile/0/" + String(repeating: "x999/", count: 12) + "999",
        ] { #expect(LogTile(path: path) == nil, "\(path)") }
    }

    @Test("the tree of 70,000 leaves, from the specification")
    func example() {
        var widths: [Int: [Int]] = [:]
        for tile in LogTile.added(from: 0, to: 70_000) {
            if case .hashes(let level) = tile.content {
                widths[level, default: []].append(tile.width)
            }
        }
        #expect(widths[0]?.count == 274 && widths[0]?.last == 112)
        #expect(widths[0]?.dropLast().allSatisfy { $0 == 256 } == true)
        #expect(widths[1] == [256, 17] && widths[2] == [1] && widths.count == 3)
        let at256 = LogTile.added(from: 0, to: 256).map(\.path)
        #expect(at256 == ["tile/entries/000", "tile/0/000", "tile/1/000.p/1"])
    }

    @Test("tiles that are added in any steps are those of the whole tree")
    func steps() {
        var random = SplitMix64(seed: 41)
        for _ in 0..<50 {
            var (size, seen): (UInt64, Set<LogTile>) = (0, [])
            while size < 70_000 {
                let next = size + UInt64.random(in: 1...20_000, using: &random)
                seen.formUnion(LogTile.added(from: size, to: next))
                size = next
            }
            #expect(Set(LogTile.added(from: 0, to: size)).isSubset(of: seen))
        }
    }

    @Test("bundles of entries")
    func bundles() {
        let entries: [[UInt8]] = [[], [1], [UInt8](repeating: 7, count: 4096)]
        let bytes = EntryBundle.encode(entries)
        #expect(bytes.count == 3 * 2 + 4097 && Array(bytes[..<5]) == [0, 0, 0, 1, 1])
        #expect(EntryBundle.decode(bytes, count: 3) == entries)
        #expect(EntryBundle.decode(bytes, count: 2) == nil)
        #expect(EntryBundle.decode(Array(bytes.dropLast()), count: 3) == nil)
        #expect(EntryBundle.decode(bytes + [0], count: 3) == nil)
        #expect(EntryBundle.decode([], count: 0) == [])
    }
}
