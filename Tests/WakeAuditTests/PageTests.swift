import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeAudit

@Suite("Pages and what is left in them", .timeLimit(.minutes(5)))
struct PageTests {
    /// Something in the first page of a tree of rows for which the condition holds.
    private static func page(
        _ description: String, _ finding: AuditFinding,
        where fits: @escaping @Sendable (BTreePage) -> Bool,
        _ change: @escaping @Sendable (inout [UInt8], Int, BTreePage) throws -> Void
    ) -> Plant {
        Plant(description, finding) { site in
            try site.change { bytes in
                let place = try require(AuditSite.pages(of: bytes, where: fits).first)
                try change(&bytes, place.start, place.page)
            }
        }
    }

    static let hasGap: @Sendable (BTreePage) -> Bool = { page in
        page.kind == .indexLeaf && 1...4 ~= page.cells.count && page.gap.count > 900
    }
    private static let hasFreeblock: @Sendable (BTreePage) -> Bool = { !$0.freeblocks.isEmpty }
    private static let isInterior: @Sendable (BTreePage) -> Bool = { $0.kind == .indexInterior }
    private static let isLeaf: @Sendable (BTreePage) -> Bool = {
        $0.kind == .indexLeaf && $0.cells.count > 2
    }

    /// The first trunk of the freelist, where it begins.
    private static func trunk(_ bytes: [UInt8]) throws -> Int {
        let number = Int(bytes.span.number32(at: 32))
        guard number > 0, bytes.span.number32(at: (number - 1) * Limits.pageBytes + 4) > 1 else {
            throw NoSuchPlace()
        }
        return (number - 1) * Limits.pageBytes
    }

    private static func append(_ page: [UInt8], to bytes: inout [UInt8]) {
        bytes += page
        bytes.replaceSubrange(28..<32, with: bigEndian(bytes.count / Limits.pageBytes))
    }

    private static func bigEndian(_ number: Int) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// Puts pages with one child each between a tree's root and its last leaf.
    private static func lower(_ bytes: inout [UInt8], by levels: Int) throws {
        let root = try require(AuditSite.pages(of: bytes, where: isInterior).first).start
        for _ in 0..<levels {
            var page = [UInt8](repeating: 0, count: Limits.pageBytes)
            // An interior page of an index without cells, whose content begins at its end.
            page.replaceSubrange(0..<8, with: [2, 0, 0, 0, 0, 0x10, 0, 0])
            page.replaceSubrange(8..<12, with: bytes[root + 8..<root + 12])
            append(page, to: &bytes)
            bytes.replaceSubrange(
                root + 8..<root + 12, with: bigEndian(bytes.count / Limits.pageBytes))
        }
    }

    static let leftovers = [
        page("a whole row in a gap", .gapContent, where: hasGap) { bytes, start, page in
            let cell = try require(page.cells.first).bytes
            let row = Array(bytes[start + cell.lowerBound..<start + cell.upperBound])
            bytes.replaceSubrange(start + 300..<start + 300 + row.count, with: row)
        },
        page("a sixteenth of a row in a gap", .gapContent, where: hasGap) { bytes, start, _ in
            let part = Sodium.random(36)
            bytes.replaceSubrange(start + 301..<start + 337, with: part)
        },
        page("four letters in a gap", .gapContent, where: hasGap) { bytes, start, _ in
            bytes.replaceSubrange(start + 402..<start + 406, with: Array("anna".utf8))
        },
        page("a number of a page in the middle of a gap", .gapContent, where: hasGap) {
            bytes, start, _ in
            bytes[start + 403] = 5
        },
        page("numbers of pages with a hole between", .gapContent, where: hasGap) {
            bytes, start, page in
            for place in [24, 28, 36] { bytes[start + place + 3] = 5 }
        },
        Plant("numbers of pages in more gaps than a history leaves", .gapContent) { site in
            // Rows first: the store of the other plants has too few pages.
            try site.insert((0..<90).map { _ in (Sodium.random(32), Sodium.random(632)) })
            try site.change { bytes in
                let pages = AuditSite.pages(of: bytes) {
                    $0.kind == .indexLeaf && $0.gap.contains(24) && $0.gap.contains(40)
                }
                guard pages.count > PageSlack.mostTrunks else { throw NoSuchPlace() }
                for page in pages { for word in [27, 31, 35] { bytes[page.start + word] = 5 } }
            }
        },
        page("an id right behind the pointers", .gapContent, where: hasGap) { bytes, start, page in
            let place = start + page.gap.lowerBound
            bytes.replaceSubrange(place..<place + 32, with: Sodium.random(32))
        },
        page("a row in a freeblock", .freeblockContent, where: hasFreeblock) {
            bytes, start, page in
            let block = try require(page.freeblocks.first)
            bytes.replaceSubrange(
                start + block.lowerBound + 4..<start + block.upperBound,
                with: Sodium.random(block.count - 4))
        },
        page("one bit in a freeblock", .freeblockContent, where: hasFreeblock) {
            bytes, start, page in
            bytes[start + (try require(page.freeblocks.first)).upperBound - 1] = 1
        },
        Plant("a row in a free page", .freePageContent) { site in
            try site.change { bytes in
                let leaf = Int(bytes.span.number32(at: try trunk(bytes) + 8))
                let start = (leaf - 1) * Limits.pageBytes + 2000
                bytes.replaceSubrange(start..<start + 590, with: Sodium.random(590))
            }
        },
        Plant("a row behind the list in a trunk page", .freePageContent) { site in
            try site.change { bytes in
                let start = try trunk(bytes) + 3000
                bytes.replaceSubrange(start..<start + 590, with: Sodium.random(590))
            }
        },
        Plant("text in the first page", .gapContent) { site in
            try site.change { $0.replaceSubrange(500..<504, with: Array("anna".utf8)) }
        },
    ]

    static let structure = [
        page("an unknown kind of page", .pageMalformed, where: isLeaf) { bytes, start, _ in
            bytes[start] = 7
        },
        page("a leaf of a table with rowids", .pageMalformed, where: isLeaf) { bytes, start, _ in
            bytes[start] = 13
        },
        page("a pointer into the header", .pageMalformed, where: isLeaf) { bytes, start, _ in
            bytes.replaceSubrange(start + 8..<start + 10, with: [0, 4])
        },
        page("a pointer beyond the page", .pageMalformed, where: isLeaf) { bytes, start, _ in
            bytes.replaceSubrange(start + 8..<start + 10, with: [0xFF, 0xF0])
        },
        page("two pointers to one cell", .pageMalformed, where: isLeaf) { bytes, start, _ in
            bytes.replaceSubrange(start + 8..<start + 10, with: bytes[start + 10..<start + 12])
        },
        page("rows in the wrong order", .rowOrder, where: isLeaf) { bytes, start, _ in
            let pointers = Array(bytes[start + 8..<start + 12])
            bytes.replaceSubrange(start + 8..<start + 12, with: pointers[2...] + pointers[..<2])
        },
        page("bytes nobody owns", .pageMalformed, where: isLeaf) { bytes, start, page in
            // A cell less, its bytes still there.
            bytes[start + 4] -= 1
        },
        page("fragments", .fragment, where: hasFreeblock) { bytes, start, page in
            // The first freeblock is two bytes shorter than the hole.
            let block = try require(page.freeblocks.first)
            bytes[start + block.lowerBound + 3] -= 2
            bytes[start + 7] = 2
        },
        page("a child outside the file", .pageOutside, where: isInterior) { bytes, start, _ in
            bytes.replaceSubrange(start + 8..<start + 12, with: [0, 0xFF, 0, 0])
        },
        page("a child that is another's", .pageTwice, where: isInterior) { bytes, start, page in
            let child = try require(page.cells.first).bytes.lowerBound + start
            bytes.replaceSubrange(start + 8..<start + 12, with: bytes[child..<child + 4])
        },
        page("a loop", .pageTwice, where: isInterior) { bytes, start, _ in
            let own = UInt8(start / Limits.pageBytes + 1)
            bytes.replaceSubrange(start + 8..<start + 12, with: [0, 0, 0, own])
        },
        Plant("a page nobody points to", .pageUnreachable) { site in
            try site.change { append(Sodium.random(Limits.pageBytes), to: &$0) }
        },
        Plant("a leaf that is deeper than others", .treeUneven) { site in
            try site.change { try lower(&$0, by: 1) }
        },
        Plant("a tree of more levels than SQLite goes down", .treeTooDeep) { site in
            try site.change { try lower(&$0, by: 20) }
        },
        Plant("a page dropped from the freelist", .pageUnreachable) { site in
            try site.change { bytes in bytes[try trunk(bytes) + 7] -= 1 }
        },
        Plant("another number of free pages", .freelistCount) { try $0.change { $0[39] += 1 } },
        Plant("a freelist that returns to itself", .pageTwice) { site in
            try site.change { bytes in
                let trunk = try trunk(bytes)
                bytes.replaceSubrange(trunk..<trunk + 4, with: bytes[32..<36])
            }
        },
        Plant("a freelist page with too long a list", .freelist) { site in
            try site.change { bytes in
                let trunk = try trunk(bytes)
                bytes.replaceSubrange(trunk + 4..<trunk + 8, with: [0, 0, 4, 1])
            }
        },
        Plant("a row that goes on in overflow pages", .overflow) { site in
            try site.insert([(Sodium.random(32), Sodium.random(9000))])
        },
    ]

    @Test("that should not be there are found", arguments: leftovers + structure)
    func planted(_ plant: Plant) async throws {
        try await plant.check()
    }

    @Test("SQLite's own check is asked too: rows out of order")
    func integrity() async throws {
        let plant = Plant("rows in the wrong order", .integrity) { site in
            try site.change { bytes in
                let start = try require(AuditSite.pages(of: bytes, where: Self.isLeaf).first).start
                bytes.swapAt(start + 8, start + 10)
                bytes.swapAt(start + 9, start + 11)
            }
        }
        try await plant.check()
    }

    @Test("without secure_delete the leftovers of deleted rows are found")
    func control() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let id = try Self.rowInsidePage(StorePlace.bytes(of: site.database))
        try site.deleteCarelessly(id)
        let report = try site.audit()
        #expect(report.findings.count(.freeblockContent) > 0)
        #expect(
            report.findings.found(in: .pages).allSatisfy {
                $0.finding.rawValue.hasPrefix("content-")
            })
    }

    /// The id of a row whose removal leaves a freeblock: its page stays full enough not to be
    /// merged with another, and its cell does not lie beside the gap.
    private static func rowInsidePage(_ bytes: [UInt8]) throws -> [UInt8] {
        let found = try require(
            AuditSite.pages(of: bytes) { isLeaf($0) && $0.cells.count >= 5 }.first)
        let cells = found.page.cells.sorted { $0.bytes.lowerBound < $1.bytes.lowerBound }
        let start = found.start + cells[2].payload.lowerBound
        let idStart = start + Int(bytes[start])
        return Array(bytes[idStart..<idStart + 32])
    }
}
