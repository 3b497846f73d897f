import WakeSystem

/// A part of a tree, read in one window in the order of its keys: the pages and rows that follow
/// those of earlier windows. Only the structure is checked here, the contents later.
struct TreeStretch {
    struct Page {
        let number: UInt32
        let bytes: [UInt8]
        let page: BTreePage
        let isRoot: Bool
        /// False for those on the way to the first row: an earlier window has shown them.
        let isFresh: Bool
    }

    private(set) var pages: [Page] = []
    /// Cells with a record, each with the place of its page.
    private(set) var rows: [(page: Int, cell: BTreePage.Cell)] = []
    private(set) var findings = AuditFindings()
    /// Pages to be looked at now, and those on the way to the first row.
    private(set) var reached: Set<UInt32> = []
    private var way: Set<UInt32> = []
    /// The id of the last row, when rows with a larger one may be left; else empty.
    private(set) var last: [UInt8] = []
    private let file: PageFile
    private let map: PageMap
    /// Of the rows; nil for a tree without ids, of which one window shows all that it has room for.
    private let form: RecordLayout?
    private let after: [UInt8]
    /// Whether the tree is one without rowids: that of its root.
    private var isIndex: Bool?
    /// How far down the leaves are: that of the first.
    private(set) var leafDepth: Int?

    /// btree.c: `BTCURSOR_MAX_DEPTH`
    static let deepest = 20

    /// - Parameters:
    ///   - after: the last row of the window before; empty at the beginning.
    ///   - leafDepth: of earlier windows, if the file is as it was.
    init(
        _ root: UInt32, in file: PageFile, _ form: RecordLayout?, after: [UInt8], leafDepth: Int?,
        map: PageMap
    ) throws(AuditFailure) {
        (self.file, self.form, self.after, self.map) = (file, form, after, map)
        self.leafDepth = leafDepth
        _ = try visit(root, depth: 0, isFresh: after.isEmpty)
    }

    /// - Parameter isFresh: false when earlier windows have shown what comes first in it.
    /// - Returns: false when the window is full.
    private mutating func visit(
        _ number: UInt32, depth: Int, isFresh: Bool
    ) throws(AuditFailure) -> Bool {
        let reason = fault(number)
        // The pages on the way to the first row were reached before.
        if let reason, isFresh || reason != .pageTwice {
            findings.note(reason)
            return true
        }
        if isFresh { reached.insert(number) } else { way.insert(number) }
        guard depth < Self.deepest else {
            findings.note(.treeTooDeep)
            return true
        }
        let bytes = try file.page(number)
        guard let page = BTreePage(bytes.span, from: number == 1 ? 100 : 0),
            isIndex == nil || isIndex == page.kind.isIndex
        else {
            findings.note(.pageMalformed)
            return true
        }
        isIndex = page.kind.isIndex
        let place = pages.count
        pages.append(
            Page(number: number, bytes: bytes, page: page, isRoot: depth == 0, isFresh: isFresh))
        if page.kind.isLeaf {
            findings.note(.treeUneven, if: leafDepth != nil && leafDepth != depth)
            if leafDepth == nil { leafDepth = depth }
        } else if page.cells.isEmpty, number != 1 {
            // Only a root that is about to get lower has none, within a transaction.
            findings.note(.pageMalformed)
        }
        let shown = isFresh ? 0 : page.cells.prefix { isShown($0, bytes) }.count
        // A child between two rows follows the first of them.
        var isChildFresh = isFresh || shown > 0 && id(of: page.cells[shown - 1], bytes) == after
        for cell in page.cells[shown...] {
            if !page.kind.isLeaf {
                guard try visit(cell.child, depth: depth + 1, isFresh: isChildFresh)
                else { return false }
                isChildFresh = true
            }
            if page.kind != .tableInterior {
                rows.append((place, cell))
                if cell.overflow != 0 { try followOverflow(cell.overflow) }
            }
            if page.kind.isLeaf { continue }
            let id = id(of: cell, bytes)
            if form == nil || !id.isEmpty, isFull {
                last = id
                return false
            }
        }
        if page.kind.isLeaf { return true }
        return try visit(page.lastChild, depth: depth + 1, isFresh: isChildFresh)
    }

    private func id(of cell: BTreePage.Cell, _ bytes: [UInt8]) -> [UInt8] {
        guard let form else { return [] }
        return form.id(in: bytes.span, of: cell) ?? []
    }

    /// Whether an earlier window has shown the row.
    private func isShown(_ cell: BTreePage.Cell, _ bytes: [UInt8]) -> Bool {
        let id = id(of: cell, bytes)
        return !id.isEmpty && !after.lexicographicallyPrecedes(id)
    }

    /// Where a leaf was shown as a whole, and a row above it.
    private var isFull: Bool { pages.count >= file.pagesAtOnce || file.isWindowOver }

    /// Why there is nothing to go to.
    private func fault(_ number: UInt32) -> AuditFinding? {
        if let fault = map.fault(number, in: file) { return fault }
        return reached.contains(number) || way.contains(number) ? .pageTwice : nil
    }

    /// sqlite.org/fileformat2.html §1.7. No row of ours has one: it is only counted.
    private mutating func followOverflow(_ first: UInt32) throws(AuditFailure) {
        var next = first
        while next != 0 {
            findings.note(.overflow)
            if let fault = fault(next) { return findings.note(fault) }
            reached.insert(next)
            let bytes = try file.page(next)
            next = bytes.span.number32(at: 0)
        }
    }
}

/// The pages that were reached, and in which state of the file: in none twice.
struct PageMap {
    private var states: [UInt32] = []

    mutating func mark(_ number: UInt32, _ state: UInt32) {
        if states.count <= Int(number) {
            let missing = Int(number) + 1 - states.count
            states += [UInt32](repeating: 0, count: missing)
        }
        states[Int(number)] = state
    }

    /// The state in which the page was reached last; 0 for never.
    func state(_ number: UInt32) -> UInt32 {
        Int(number) < states.count ? states[Int(number)] : 0
    }

    /// The reason not to read a page: it does not exist, or was reached in this state of the file.
    func fault(_ number: UInt32, in file: PageFile) -> AuditFinding? {
        if number == 0 || number > file.pageCount { return .pageOutside }
        if number == file.lockPage { return .lockPage }
        return state(number) == file.state ? .pageTwice : nil
    }
}
