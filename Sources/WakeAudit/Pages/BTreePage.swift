import WakeSystem

/// One page of a b-tree (sqlite.org/fileformat2.html §1.6): every byte is header, pointer, gap,
/// cell, freeblock or fragment, and none is two of them.
package struct BTreePage {
    package enum Kind: UInt8 {
        case indexInterior = 2
        case tableInterior = 5
        case indexLeaf = 10
        case tableLeaf = 13

        package var isLeaf: Bool { self == .indexLeaf || self == .tableLeaf }
        var isIndex: Bool { self == .indexInterior || self == .indexLeaf }
    }

    package struct Cell {
        /// All of it: child, lengths, payload, first overflow page.
        package let bytes: Range<Int>
        /// What of the payload lies in the page; empty above the leaves of a table with rowids.
        package let payload: Range<Int>
        /// The page to the left; 0 in leaves.
        let child: UInt32
        /// Where the payload goes on; 0 when it lies in the page as a whole.
        let overflow: UInt32
        /// 0 but in a table with rowids.
        let rowid: UInt64
    }

    package let kind: Kind
    /// In the order of their keys.
    package let cells: [Cell]
    /// Child to the right of all cells; 0 in leaves.
    let lastChild: UInt32
    /// Between the pointers and the first cell.
    package let gap: Range<Int>
    package let freeblocks: [Range<Int>]
    package let fragments: Int

    /// §1.6: "X is ((U-12)*64/255)-23" for index pages.
    static func longestLocalPayload(inIndexOf pageSize: Int) -> Int {
        (pageSize - 12) * 64 / 255 - 23
    }

    /// - Parameter start: 100 in the first page of the file, else 0.
    /// - Returns: nil when the page, with no reserved bytes at its end, is not of the format.
    package init?(_ page: Span<UInt8>, from start: Int) {
        let end = page.count
        guard let kind = Kind(rawValue: page[start]) else { return nil }
        let count = page.number16(at: start + 3)
        let first = page.number16(at: start + 5)
        let pointers = start + (kind.isLeaf ? 8 : 12)
        let pointersEnd = pointers + 2 * count
        guard pointersEnd <= first, first <= end else { return nil }
        self.kind = kind
        gap = pointersEnd..<first
        lastChild = kind.isLeaf ? 0 : page.number32(at: start + 8)
        var cells: [Cell] = []
        cells.reserveCapacity(count)
        for index in 0..<count {
            let place = page.number16(at: pointers + 2 * index)
            guard place >= first, let cell = Self.cell(page, at: place, kind) else { return nil }
            cells.append(cell)
        }
        self.cells = cells
        guard
            let freeblocks = Self.freeblocks(
                page, from: page.number16(at: start + 1), contentStart: first)
        else { return nil }
        self.freeblocks = freeblocks
        fragments = Int(page[start + 7])
        guard Self.isCovered(first..<end, cells, freeblocks, fragments) else { return nil }
    }

    /// §1.6, "Cell Format"
    private static func cell(_ page: Span<UInt8>, at place: Int, _ kind: Kind) -> Cell? {
        let end = page.count
        var position = place
        var child: UInt32 = 0
        if !kind.isLeaf {
            guard place + 4 <= end else { return nil }
            child = page.number32(at: place)
            position += 4
        }
        if kind == .tableInterior {
            guard let key = Varint.read(page, at: position, before: end) else { return nil }
            return Cell(
                bytes: place..<key.end, payload: 0..<0, child: child, overflow: 0,
                rowid: key.value)
        }
        guard let length = Varint.read(page, at: position, before: end) else { return nil }
        position = length.end
        var rowid: UInt64 = 0
        if kind == .tableLeaf {
            guard let key = Varint.read(page, at: position, before: end) else { return nil }
            position = key.end
            rowid = key.value
        }
        let longest = kind.isIndex ? longestLocalPayload(inIndexOf: end) : end - 35
        if length.value <= UInt64(longest) {
            let payload = position..<position + Int(length.value)
            // §1.6: a cell takes up at least 4 bytes.
            let cellEnd = max(payload.upperBound, place + 4)
            guard cellEnd <= end else { return nil }
            return Cell(
                bytes: place..<cellEnd, payload: payload, child: child, overflow: 0,
                rowid: rowid)
        }
        guard length.value <= UInt64(Int32.max) else { return nil }
        let least = (end - 12) * 32 / 255 - 23
        let wanted = least + (Int(length.value) - least) % (end - 4)
        let payload = position..<position + (wanted <= longest ? wanted : least)
        guard payload.upperBound + 4 <= end else { return nil }
        return Cell(
            bytes: place..<payload.upperBound + 4, payload: payload, child: child,
            overflow: page.number32(at: payload.upperBound), rowid: rowid)
    }

    /// The chain goes forwards through the page (§1.6, "freeblocks").
    private static func freeblocks(
        _ page: Span<UInt8>, from first: Int, contentStart: Int
    ) -> [Range<Int>]? {
        var blocks: [Range<Int>] = []
        var place = first
        while place != 0 {
            guard place >= (blocks.last?.upperBound ?? contentStart), place + 4 <= page.count
            else { return nil }
            let size = page.number16(at: place + 2)
            guard size >= 4, place + size <= page.count else { return nil }
            blocks.append(place..<place + size)
            place = page.number16(at: place)
        }
        return blocks
    }

    /// What is neither cell nor freeblock is fragments, as many bytes as the header says.
    private static func isCovered(
        _ content: Range<Int>, _ cells: [Cell], _ freeblocks: [Range<Int>], _ fragments: Int
    ) -> Bool {
        var position = content.lowerBound
        var between = 0
        for part in (cells.map(\.bytes) + freeblocks).sorted(by: { $0.lowerBound < $1.lowerBound })
        {
            guard part.lowerBound >= position else { return false }
            between += part.lowerBound - position
            position = part.upperBound
        }
        return between + content.upperBound - position == fragments
    }
}

/// SQLite's numbers, all in network order.
extension Span where Element == UInt8 {
    func number16(at offset: Int) -> Int { Int(bigEndian(at: offset, as: UInt16.self)) }
    func number32(at offset: Int) -> UInt32 { bigEndian(at: offset) }
    func number64(at offset: Int) -> UInt64 { bigEndian(at: offset) }
}
