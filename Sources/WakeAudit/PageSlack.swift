/// What SQLite leaves behind in the free space of pages when `secure_delete` is on, and nothing
/// else.
///
/// A freed cell is overwritten with zeros before its place is given back (btree.c, `freeSpace`),
/// a freed page as a whole (`freePage2`). All cells of a page are equally long, so a place is only
/// ever taken by a cell of the same size: nothing is moved about, and nothing lies across. What
/// stays are numbers of the b-tree's own, of three kinds:
///
/// 1. In the room of the cell pointers, pointers of cells that were dropped: each is one of the few
///    places a cell of this page can have.
/// 2. At such a place, the four bytes of a freeblock that later became part of the gap: the next
///    place or 0, and a multiple of a cell's size.
/// 3. Page numbers: a page that was a trunk of the freelist and then takes over what a full root
///    held (`balance_deeper`) is not cleared in between. They are aligned to four bytes and
///    no larger than the file has pages, so at most their low bits are not zero.
///
/// A row is 584 bytes of noise. To pass, each four of them would have to form a number up to the
/// count of pages: for one word in a file of a million rows the chance is 1 in 20,000, for a tenth
/// of a row 10^-60. Text never passes: its first byte of four is not zero.
struct PageSlack {
    let form: RecordForm
    let pageCount: UInt32

    /// Counts what does not belong there.
    /// - Parameter bytes: a page of a tree without rowids.
    func check(
        _ page: BTreePage, _ bytes: Span<UInt8>, _ findings: inout AuditFindings
    ) {
        for block in page.freeblocks
        where !bytes.extracting(block.lowerBound + 4..<block.upperBound).isZero {
            findings.note(.freeblockContent)
        }
        // Cells of one size leave no room too small for a freeblock.
        findings.note(.fragment, if: page.fragments > 0)
        findings.note(.gapContent, if: !isBookkeeping(page, bytes))
    }

    /// The first page is written once: nothing is ever dropped there.
    static func checkFirst(
        _ page: BTreePage, _ bytes: Span<UInt8>, _ findings: inout AuditFindings
    ) {
        for block in page.freeblocks
        where !bytes.extracting(block.lowerBound + 4..<block.upperBound).isZero {
            findings.note(.freeblockContent)
        }
        findings.note(.fragment, if: page.fragments > 0)
        findings.note(.gapContent, if: !bytes.extracting(page.gap).isZero)
    }

    private func isBookkeeping(_ page: BTreePage, _ bytes: Span<UInt8>) -> Bool {
        // Most gaps end their pointers' room with nothing behind it.
        if bytes.extracting(page.gap).isZero { return true }
        let size = form.cellCount(isLeaf: page.kind.isLeaf)
        let capacity = (form.pageSize - 12) / size
        let places = (1...capacity).map { form.pageSize - size * $0 }
        var rest = [UInt8](repeating: 0, count: bytes.count)
        for index in page.gap { rest[index] = bytes[index] }
        // 1: pointers
        let pointers = page.gap.lowerBound - 2 * page.cells.count
        for index in page.cells.count..<max(page.cells.count, capacity) {
            let place = pointers + 2 * index
            guard place + 2 <= page.gap.upperBound else { break }
            if places.contains(rest.span.number16(at: place)) { clear(&rest, place, 2) }
        }
        // 2: freeblocks
        for place in places where page.gap.contains(place) {
            let next = rest.span.number16(at: place)
            let count = rest.span.number16(at: place + 2)
            let isLink = next == 0 || next > place && places.contains(next)
            if isLink, count % size == 0, count / size <= capacity { clear(&rest, place, 4) }
        }
        // 3: page numbers
        var word = page.gap.lowerBound & ~3
        while word < page.gap.upperBound {
            if rest.span.number32(at: word) > pageCount { return false }
            word += 4
        }
        return true
    }

    private func clear(_ bytes: inout [UInt8], _ place: Int, _ count: Int) {
        for index in place..<place + count { bytes[index] = 0 }
    }
}
