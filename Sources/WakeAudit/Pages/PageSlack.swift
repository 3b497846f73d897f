import WakeSystem

/// The free space of pages: zeros, as `secure_delete` is on (btree.c, `freeSpace`, `freePage2`),
/// and these numbers of the b-tree's own, where all cells are equally long:
/// 1. In the room of the cell pointers: those of dropped cells, each a possible place of a cell.
/// 2. At such a place: the first bytes of a freeblock that became part of the gap, which are the
///    next place or 0, and a multiple of a cell's size.
/// 3. Page numbers, aligned to four bytes: a former trunk of the freelist that takes over what a
///    full root held (`balance_deeper`) is not cleared.
/// 4. In a root that is a leaf: 1 and 2 of the time when it was none (`balance_shallower`).
///
/// A row is 584 bytes of noise, and each four of them would have to form a number up to the count
/// of pages: for one word in a file of a million rows the chance is 1 in 20,000, for a tenth of a
/// row 10^-60. Text never passes: its first byte of four is not zero.
struct PageSlack {
    let form: RecordLayout
    let pageCount: UInt32

    /// Counts what does not belong there, in a page of a tree without rowids.
    func check(
        _ page: BTreePage, _ bytes: Span<UInt8>, isRoot: Bool, _ findings: inout AuditFindings
    ) {
        Self.checkFreed(page, bytes, &findings)
        findings.note(.gapContent, if: !isBookkeeping(page, bytes, isRoot: isRoot))
    }

    /// The first page is written once: nothing is ever dropped there.
    static func checkFirst(
        _ page: BTreePage, _ bytes: Span<UInt8>, _ findings: inout AuditFindings
    ) {
        checkFreed(page, bytes, &findings)
        findings.note(.gapContent, if: !bytes.extracting(page.gap).isZero)
    }

    private static func checkFreed(
        _ page: BTreePage, _ bytes: Span<UInt8>, _ findings: inout AuditFindings
    ) {
        for block in page.freeblocks
        where !bytes.extracting(block.lowerBound + 4..<block.upperBound).isZero {
            findings.note(.freeblockContent)
        }
        // Cells of one size leave no room too small for a freeblock.
        findings.note(.fragment, if: page.fragments > 0)
    }

    private func isBookkeeping(_ page: BTreePage, _ bytes: Span<UInt8>, isRoot: Bool) -> Bool {
        // Most gaps have nothing behind the pointers.
        if bytes.extracting(page.gap).isZero { return true }
        var rest = [UInt8](repeating: 0, count: bytes.count)
        for index in page.gap { rest[index] = bytes[index] }
        clearBookkeeping(of: page.kind.isLeaf, page.gap, &rest)
        if isRoot, page.kind.isLeaf { clearBookkeeping(of: false, page.gap, &rest) }
        // Page numbers may be anywhere.
        var word = page.gap.lowerBound & ~3
        while word < page.gap.upperBound {
            if rest.span.number32(at: word) > pageCount { return false }
            word += 4
        }
        return true
    }

    /// Clears what cells of one size leave behind: pointers, and the beginnings of freeblocks.
    private func clearBookkeeping(of isLeaf: Bool, _ gap: Range<Int>, _ bytes: inout [UInt8]) {
        let size = form.cellCount(isLeaf: isLeaf)
        let capacity = (form.pageSize - 12) / size
        let places = (1...capacity).map { form.pageSize - size * $0 }
        let pointersEnd = (isLeaf ? 8 : 12) + 2 * capacity
        for place in stride(from: gap.lowerBound, to: min(pointersEnd, gap.upperBound), by: 2)
        where places.contains(bytes.span.number16(at: place)) { bytes.wipe(place..<place + 2) }
        for place in places where gap.contains(place) {
            let next = bytes.span.number16(at: place)
            let count = bytes.span.number16(at: place + 2)
            let isLink = next == 0 || next > place && places.contains(next)
            if isLink, count > 0, count % size == 0, count / size <= capacity {
                bytes.wipe(place..<place + 4)
            }
        }
    }
}
