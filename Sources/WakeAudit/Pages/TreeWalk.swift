import WakeSystem

/// A reader of the records of a b-tree, in the order of the tree.
protocol RecordReader {
    /// - Parameter isWhole: false when the payload goes on in overflow pages.
    mutating func read(_ payload: Span<UInt8>, isWhole: Bool, _ findings: inout AuditFindings)
}

/// Walks b-trees and the freelist, page by page in the order of the keys, with a bounded stack.
struct TreeWalk {
    let file: PageFile
    var map: PageMap
    var findings = AuditFindings()
    private(set) var visited = 0
    /// Pages whose free space holds numbers of pages.
    private var formerTrunks = 0
    private let progress: (Int) -> Void

    /// What may lie in the free space of a tree's pages.
    enum Rule {
        /// The first page and its tree.
        case schema
        case rows(RecordLayout)
        /// A tree that should not be there: only its pages count.
        case foreign
    }

    /// - Parameter progress: called with the share of pages seen, in thousandths.
    init(_ file: PageFile, _ progress: @escaping (Int) -> Void) {
        self.file = file
        self.progress = progress
        map = PageMap(pageCount: file.pageCount, lockPage: file.lockPage)
    }

    mutating func walk<Reader: RecordReader>(
        root: UInt32, _ rule: Rule, _ reader: inout Reader
    ) throws(AuditFailure) {
        var tree = Tree(rule: rule)
        try visit(root, depth: 0, &tree, &reader)
    }

    private struct Tree {
        let rule: Rule
        /// Whether it is one without rowids: that of its root.
        var isIndex: Bool?
        /// How far down the leaves are: that of the first.
        var leafDepth: Int?
    }

    /// btree.c: `BTCURSOR_MAX_DEPTH`
    private static let deepest = 20

    private mutating func visit<Reader: RecordReader>(
        _ number: UInt32, depth: Int, _ tree: inout Tree, _ reader: inout Reader
    ) throws(AuditFailure) {
        guard map.reach(number, &findings) else { return }
        guard depth < Self.deepest else { return findings.note(.treeTooDeep) }
        let bytes = try file.page(number)
        visited += 1
        if visited % 1024 == 0 { progress(visited * 1000 / Int(file.pageCount)) }
        guard let page = BTreePage(bytes.span, from: number == 1 ? 100 : 0),
            tree.isIndex ?? page.kind.isIndex == page.kind.isIndex
        else { return findings.note(.pageMalformed) }
        tree.isIndex = page.kind.isIndex
        check(page, bytes, isRoot: depth == 0, tree.rule)
        if page.kind.isLeaf {
            findings.note(.treeUneven, if: tree.leafDepth ?? depth != depth)
            tree.leafDepth = tree.leafDepth ?? depth
        } else if page.cells.isEmpty, number != 1 {
            // Only a root that is about to get lower has none, within a transaction.
            findings.note(.pageMalformed)
        }
        for cell in page.cells {
            if !page.kind.isLeaf { try visit(cell.child, depth: depth + 1, &tree, &reader) }
            if page.kind != .tableInterior {
                reader.read(
                    bytes.span.extracting(cell.payload), isWhole: cell.overflow == 0, &findings)
                if cell.overflow != 0 { try followOverflow(cell.overflow) }
            }
        }
        if !page.kind.isLeaf { try visit(page.lastChild, depth: depth + 1, &tree, &reader) }
    }

    private mutating func check(_ page: BTreePage, _ bytes: [UInt8], isRoot: Bool, _ rule: Rule) {
        switch rule {
        case .rows(let form) where page.kind.isIndex:
            let isFormerTrunk = PageSlack(form: form, pageCount: file.pageCount)
                .check(page, bytes.span, isRoot: isRoot, &findings)
            if isFormerTrunk { formerTrunks += 1 }
            findings.note(.gapContent, if: isFormerTrunk && formerTrunks > PageSlack.mostTrunks)
        case .rows: findings.note(.pageMalformed)
        case .schema: PageSlack.checkFirst(page, bytes.span, &findings)
        case .foreign: break
        }
    }

    /// sqlite.org/fileformat2.html §1.7. No row of ours has one: it is only counted.
    private mutating func followOverflow(_ first: UInt32) throws(AuditFailure) {
        var next = first
        while next != 0 {
            findings.note(.overflow)
            guard map.reach(next, &findings) else { return }
            let bytes = try file.page(next)
            next = bytes.span.number32(at: 0)
        }
    }

    // MARK: Freelist (sqlite.org/fileformat2.html §1.5)

    /// - Returns: how many pages are in it.
    mutating func walkFreelist(first: UInt32) throws(AuditFailure) -> Int {
        var trunk = first
        var count = 0
        while trunk != 0 {
            guard map.reach(trunk, &findings) else { break }
            count += 1
            let bytes = try file.page(trunk)
            let leaves = bytes.span.number32(at: 4)
            guard leaves <= UInt32(file.pageSize / 4 - 2) else {
                findings.note(.freelist)
                break
            }
            let end = 8 + 4 * Int(leaves)
            for place in stride(from: 8, to: end, by: 4) {
                let leaf = bytes.span.number32(at: place)
                guard map.reach(leaf, &findings) else { continue }
                count += 1
                let content = try file.page(leaf)
                findings.note(.freePageContent, if: !content.span.isZero)
            }
            findings.note(.freePageContent, if: !isTrunkTail(bytes.span.extracting(end...)))
            trunk = bytes.span.number32(at: 0)
        }
        return count
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

    /// What must hold once everything has been walked.
    mutating func finish() throws(AuditFailure) {
        findings.note(.pageUnreachable, count: map.unreachable)
        if file.lockPage <= file.pageCount {
            let bytes = try file.page(file.lockPage)
            findings.note(.lockPage, if: !bytes.span.isZero)
        }
    }
}

/// The pages that were reached: each must be, once.
struct PageMap {
    private var isReached: [Bool]
    private let lockPage: UInt32
    let pageCount: UInt32

    init(pageCount: UInt32, lockPage: UInt32) {
        self.pageCount = pageCount
        self.lockPage = lockPage
        isReached = [Bool](repeating: false, count: Int(pageCount) + 1)
        isReached[0] = true
    }

    /// Marks a page that something points to; returns whether to go there: it exists, and is new.
    mutating func reach(_ number: UInt32, _ findings: inout AuditFindings) -> Bool {
        let fault: AuditFinding? =
            if number == 0 || number > pageCount {
                .pageOutside
            } else if number == lockPage {
                .lockPage
            } else {
                isReached[Int(number)] ? .pageTwice : nil
            }
        if let fault {
            findings.note(fault)
            return false
        }
        isReached[Int(number)] = true
        return true
    }

    /// Pages nothing points to; the lock page is none of them.
    var unreachable: Int { isReached.indices.count { !isReached[$0] && UInt32($0) != lockPage } }
}
