import WakeSystem

/// A reader of the records of a b-tree, in the order of the tree.
protocol RecordReader {
    /// - Parameter isWhole: false when the payload goes on in overflow pages.
    mutating func read(_ payload: Span<UInt8>, isWhole: Bool, _ findings: inout AuditFindings)
}

/// Walks b-trees and what no tree reaches, window by window: each id is read once, and each page
/// once while it was in a tree or free.
struct TreeWalk {
    let file: PageFile
    var findings = AuditFindings()
    private(set) var visited = 0
    private var map = PageMap()
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

        var form: RecordLayout? { if case .rows(let form) = self { form } else { nil } }
    }

    /// - Parameter progress: called with the share of pages seen, in thousandths.
    init(_ file: PageFile, _ progress: @escaping (Int) -> Void) {
        self.file = file
        self.progress = progress
    }

    mutating func walk<Reader: RecordReader>(
        root: UInt32, _ rule: Rule, _ reader: inout Reader
    ) throws(AuditFailure) {
        var after: [UInt8] = []
        var leaves: (depth: Int?, state: UInt32) = (nil, 0)
        while true {
            let stretch = try file.window { [file, after, leaves, map] () throws(AuditFailure) in
                try TreeStretch(
                    root, in: file, rule.form, after: after,
                    leafDepth: leaves.state == file.state ? leaves.depth : nil, map: map)
            }
            leaves = (stretch.leafDepth, file.state)
            findings.merge(stretch.findings)
            for number in stretch.reached { map.mark(number, file.state) }
            for page in stretch.pages where page.isFresh {
                visited += 1
                if visited % 1024 == 0 { progress(min(1000, visited * 1000 / Int(file.pageCount))) }
                check(page.page, page.bytes, isRoot: page.isRoot, rule)
            }
            for row in stretch.rows {
                let bytes = stretch.pages[row.page].bytes
                reader.read(
                    bytes.span.extracting(row.cell.payload), isWhole: row.cell.overflow == 0,
                    &findings)
            }
            if stretch.last.isEmpty { return }
            // A tree whose order is broken has no place to continue from.
            guard after.lexicographicallyPrecedes(stretch.last)
            else { return findings.note(.rowOrder) }
            after = stretch.last
        }
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

    // MARK: Pages that no tree reaches

    /// Tables of rows: where a page may belong that came into a tree behind the walk.
    typealias Tables = [(root: UInt32, form: RecordLayout)]

    /// Free pages, those that no walk has reached, and the page of SQLite's locks.
    /// - Returns: how many pages are free.
    mutating func walkRest(_ tables: Tables) throws(AuditFailure) -> Int {
        var count: Int?
        var next: UInt32 = 1
        repeat {
            let rest = try file.window { [file, map] () throws(AuditFailure) in
                try RestOfPages(from: next, in: file, tables, map: map)
            }
            findings.merge(rest.findings)
            if count == nil { findings.merge(rest.listFindings) }
            count = count ?? rest.freeCount
            for (page, bytes, form) in rest.moved {
                check(page, bytes, isRoot: false, .rows(form))
                var rows = RegistrationRows(form, nil)
                for cell in page.cells {
                    rows.read(
                        bytes.span.extracting(cell.payload), isWhole: cell.overflow == 0,
                        &findings)
                }
            }
            next = rest.next
        } while next <= file.pageCount
        return count ?? 0
    }
}
