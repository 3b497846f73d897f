import WakeSystem

/// Some of the pages that no walk has reached, read in one window in the order of their numbers.
/// Each is free and empty, or in a tree by now, or lost.
struct RestOfPages {
    private(set) var findings = AuditFindings()
    /// Of the list of free pages as a whole (sqlite.org/fileformat2.html §1.5).
    private(set) var listFindings = AuditFindings()
    private(set) var freeCount = 0
    /// Pages that came into a table behind the walk of it.
    private(set) var moved: [(page: BTreePage, bytes: [UInt8], form: RecordLayout)] = []
    /// The first page that was not looked at.
    private(set) var next: UInt32
    private let file: PageFile
    private let map: PageMap
    private let tables: TreeWalk.Tables
    private var uses: [Use]

    private enum Use: UInt8 { case none, leaf, trunk }

    init(
        from first: UInt32, in file: PageFile, _ tables: TreeWalk.Tables, map: PageMap
    ) throws(AuditFailure) {
        (self.file, self.tables, self.map, next) = (file, tables, map, first)
        uses = [Use](repeating: .none, count: Int(file.pageCount) + 1)
        try readList()
        var looked = 0
        while next <= file.pageCount,
            looked == 0 || looked < file.pagesAtOnce && !file.isWindowOver
        {
            if try look(next) { looked += 1 }
            next += 1
        }
    }

    private mutating func readList() throws(AuditFailure) {
        guard let header = FileHeader(try file.read(at: 0, count: 100)) else { throw .changing }
        var trunk = header.firstTrunk
        while trunk != 0, take(trunk, .trunk) {
            let bytes = try file.page(trunk)
            let leaves = bytes.span.number32(at: 4)
            guard leaves <= UInt32(file.pageSize / 4 - 2) else {
                listFindings.note(.freelist)
                break
            }
            for index in 0..<Int(leaves) { _ = take(bytes.span.number32(at: 8 + 4 * index), .leaf) }
            trunk = bytes.span.number32(at: 0)
        }
        listFindings.note(.freelistCount, if: freeCount != header.freePages)
    }

    private mutating func take(_ number: UInt32, _ use: Use) -> Bool {
        // In a tree at the same time is one use too many.
        var fault = map.fault(number, in: file)
        if fault == nil, uses[Int(number)] != .none { fault = .pageTwice }
        if let fault {
            listFindings.note(fault)
            return false
        }
        uses[Int(number)] = use
        freeCount += 1
        return true
    }

    /// - Returns: whether the page had to be read.
    private mutating func look(_ number: UInt32) throws(AuditFailure) -> Bool {
        let use = uses[Int(number)]
        guard use != .none || map.state(number) == 0 else { return false }
        let bytes = try file.page(number)
        if number == file.lockPage {
            findings.note(.lockPage, if: !bytes.span.isZero)
        } else if use == .leaf {
            findings.note(.freePageContent, if: !bytes.span.isZero)
        } else if use == .trunk {
            let leaves = min(Int(bytes.span.number32(at: 4)), file.pageSize / 4 - 2)
            let tail = bytes.span.extracting((8 + 4 * leaves)...)
            findings.note(.freePageContent, if: !isTrunkTail(tail))
        } else if let table = try owner(of: number, bytes) {
            moved.append(table)
        } else {
            findings.note(.pageUnreachable)
        }
        return true
    }

    /// Behind its list a trunk keeps numbers of pages that were in it, without a hole, then zeros
    /// (btree.c, `allocateBtreePage`, `freePage2`).
    private func isTrunkTail(_ tail: Span<UInt8>) -> Bool {
        var place = 0
        while place < tail.count {
            let number = tail.number32(at: place)
            guard number >= 2, number <= file.pageCount else { break }
            place += 4
        }
        return tail.extracting(place...).isZero
    }

    /// - Returns: nil when none of the tables leads to the page.
    private func owner(
        of number: UInt32, _ bytes: [UInt8]
    ) throws(AuditFailure) -> (BTreePage, [UInt8], RecordLayout)? {
        guard let page = BTreePage(bytes.span, from: 0), let cell = page.cells.first
        else { return nil }
        for table in tables {
            if let id = table.form.id(in: bytes.span, of: cell),
                try leads(to: number, id, table.root, table.form)
            {
                return (page, bytes, table.form)
            }
        }
        return nil
    }

    /// Whether the way from a root to an id goes through the page.
    private func leads(
        to number: UInt32, _ id: [UInt8], _ root: UInt32, _ form: RecordLayout
    ) throws(AuditFailure) -> Bool {
        var current = root
        for _ in 0..<TreeStretch.deepest {
            if current == number { return true }
            guard current > 0, current <= file.pageCount else { return false }
            let bytes = try file.page(current)
            guard let page = BTreePage(bytes.span, from: 0), !page.kind.isLeaf
            else { return false }
            let next = page.cells.first { cell in
                form.id(in: bytes.span, of: cell).map { id.lexicographicallyPrecedes($0) } ?? false
            }
            current = next?.child ?? page.lastChild
        }
        return false
    }
}
