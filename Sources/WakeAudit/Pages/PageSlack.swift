import WakeSystem

/// The free space of pages: zeros, as `secure_delete` is on (btree.c, `freeSpace`, `freePage2`),
/// and these numbers of the b-tree's own, where all cells are equally long:
/// 1. In the room of the cell pointers: those of dropped cells, each a possible place of a cell.
/// 2. At such a place: the first bytes of a freeblock that became part of the gap, which are the
///    next place or 0, and a multiple of a cell's size.
/// 3. Page numbers, aligned to four bytes: a former trunk of the freelist that takes over what a
///    full root held (`balance_deeper`) is not cleared. They begin right behind the pointers and
///    have no hole. It takes a trunk whose list is used up at the moment a root is split: of
///    26,800 files of small stores under churn 105 had one such page, and none had two.
/// 4. In a root that is a leaf: 1 and 2 of the time when it was none (`balance_shallower`).
///
/// A row is 664 bytes of noise, and each four of them would have to form a number up to the count
/// of pages: for one word in a file of a million rows the chance is 1 in 20,000, for a tenth of a
/// row 10^-60. Text never passes: its first byte of four is not zero. Somebody who writes nothing
/// but such numbers has some 60 words of page numbers in each of ``mostTrunks`` pages.
struct PageSlack {
    let form: RecordLayout
    let pageCount: UInt32

    /// More pages with 3 than chance gives a file.
    static let mostTrunks = 8

    /// Counts what does not belong there, in a page of a tree without rowids.
    /// - Returns: whether there are page numbers in it.
    func check(
        _ page: BTreePage, _ bytes: Span<UInt8>, isRoot: Bool, _ findings: inout AuditFindings
    ) -> Bool {
        Self.checkFreed(page, bytes, &findings)
        // Most gaps have nothing behind the pointers.
        if bytes.extracting(page.gap).isZero { return false }
        let numbers = pageNumbers(page, bytes, isRoot: isRoot)
        findings.note(.gapContent, if: numbers == nil)
        return numbers ?? 0 > 0
    }

    /// The first page is written once: nothing is ever dropped there.
    static func checkFirst(
        _ page: BTreePage, _ bytes: Span<UInt8>, _ findings: inout AuditFindings
    ) {
        checkFreed(page, bytes, &findings)
        findings.note(.gapContent, if: !bytes.extracting(page.gap).isZero)
        // Each entry has the next number: another would be somebody's choice.
        guard page.kind == .tableLeaf else { return }
        let isCounted = zip(page.cells, 1...).allSatisfy { $0.rowid == UInt64($1) }
        findings.note(.schemaRowid, if: !isCounted)
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

    /// - Returns: how many words of the gap are page numbers, nil when there is anything else.
    private func pageNumbers(_ page: BTreePage, _ bytes: Span<UInt8>, isRoot: Bool) -> Int? {
        var rest = [UInt8](repeating: 0, count: bytes.count)
        for index in page.gap { rest[index] = bytes[index] }
        clearBookkeeping(of: page.kind.isLeaf, page.gap, &rest)
        if isRoot, page.kind.isLeaf { clearBookkeeping(of: false, page.gap, &rest) }
        var count = 0
        // Of the first words pointers may have taken any.
        var mayBegin = pointersEnd(isLeaf: false)
        for word in stride(from: page.gap.lowerBound & ~3, to: page.gap.upperBound, by: 4) {
            let number = rest.span.number32(at: word)
            if number == 0 {
                // 1 and 2 may lie over a list.
                let isCleared = !bytes.isZero(word..<min(word + 4, bytes.count))
                if count > 0, !isCleared { mayBegin = 0 }
                continue
            }
            guard number <= pageCount, word <= mayBegin else { return nil }
            mayBegin = bytes.count
            count += 1
        }
        return count
    }

    private func pointersEnd(isLeaf: Bool) -> Int {
        (isLeaf ? 8 : 12) + 2 * ((form.pageSize - 12) / form.cellCount(isLeaf: isLeaf))
    }

    /// Clears what cells of one size leave behind: pointers, and the beginnings of freeblocks.
    private func clearBookkeeping(of isLeaf: Bool, _ gap: Range<Int>, _ bytes: inout [UInt8]) {
        let size = form.cellCount(isLeaf: isLeaf)
        let capacity = (form.pageSize - 12) / size
        let places = (1...capacity).map { form.pageSize - size * $0 }
        let end = min(pointersEnd(isLeaf: isLeaf), gap.upperBound)
        for place in stride(from: gap.lowerBound, to: end, by: 2)
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
