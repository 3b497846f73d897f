import WakeAudit
import WakeSystem

/// A page of a database: whatever its bytes, each is accounted for exactly once, or it is no page.
enum PageProperty {
    static let pageBytes = 512

    /// - Parameter input: a page, filled with zeros or cut to its size.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        var isPage = false
        var page = Array(input.prefix(pageBytes))
        page += [UInt8](repeating: 0, count: pageBytes - page.count)
        for start in [0, 100] {
            guard let parts = BTreePage(page.span, from: start) else { continue }
            try check(parts, from: start)
            isPage = true
        }
        return isPage
    }

    private static func check(_ page: BTreePage, from start: Int) throws(Violation) {
        var owners = [Int](repeating: 0, count: pageBytes)
        func own(_ range: Range<Int>) throws(Violation) {
            try require(range.upperBound <= pageBytes, "a part outside the page")
            for index in range { owners[index] += 1 }
        }
        let pointers = start + (page.kind.isLeaf ? 8 : 12)
        try own(0..<pointers + 2 * page.cells.count)
        try own(page.gap)
        for cell in page.cells {
            try own(cell.bytes)
            try require(
                page.kind == .tableInterior
                    || cell.payload.lowerBound >= cell.bytes.lowerBound
                        && cell.payload.upperBound <= cell.bytes.upperBound,
                "a payload outside its cell")
        }
        for block in page.freeblocks { try own(block) }
        try require(owners.allSatisfy { $0 <= 1 }, "two parts share a byte")
        try require(owners.count { $0 == 0 } == page.fragments, "bytes nobody accounts for")
    }
}
