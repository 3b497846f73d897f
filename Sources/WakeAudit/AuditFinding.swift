/// One kind of violation. Words are part of the JSON and stay; a count goes with each, never data.
package enum AuditFinding: String, Sendable, CaseIterable, Hashable {
    // 1 place
    case fileMode = "file-mode"
    case fileOwner = "file-owner"
    case fileIsLink = "file-is-link"
    case openDirectory = "directory-writable-by-others"
    case directoryMode = "directory-mode"
    case openParent = "parent-writable-by-others"
    case hardLink = "hard-link"
    case attribute = "extended-attribute"
    case strayFile = "stray-file"
    case generations = "generation-files"
    case siblingMode = "sibling-mode"
    case siblingOwner = "sibling-owner"
    case siblingKind = "sibling-kind"
    case logNotEmpty = "log-not-empty"
    case journal = "journal-present"
    case stateForm = "state-file-form"
    case stateText = "text-in-state-file"
    case stateToken = "token-in-state-file"
    case keysBesideData = "keys-in-state-file"

    // 2 header
    case magic = "no-sqlite-file"
    case size = "size-no-multiple-of-page"
    case pageSize = "page-size"
    case pageCount = "page-count"
    case reservedSpace = "reserved-space"
    case journalMode = "journal-mode"
    case fractions = "payload-fractions"
    case changeCounter = "change-counter"
    case schemaFormat = "schema-format"
    case textEncoding = "text-encoding"
    case autoVacuum = "auto-vacuum"
    case unusedSetting = "unused-setting"
    case applicationID = "application-id"
    case userVersion = "user-version"
    case reservedBytes = "reserved-bytes"
    case libraryVersion = "library-version"
    case schemaCookie = "schema-cookie"

    // 3 schema
    case extraTable = "extra-table"
    case extraIndex = "extra-index"
    case extraTrigger = "extra-trigger"
    case extraView = "extra-view"
    case extraEntry = "extra-entry"
    case missingTable = "missing-table"
    case definition = "definition-differs"
    case rootPage = "root-page"
    case schemaRowid = "schema-rowid"

    // 4 integrity
    case integrity = "integrity-check"
    case unreadable = "sqlite-cannot-read"

    // 5 pages
    case pageMalformed = "page-malformed"
    case pageTwice = "page-used-twice"
    case pageOutside = "page-outside-file"
    case pageUnreachable = "page-unreachable"
    case lockPage = "lock-page"
    case treeTooDeep = "tree-too-deep"
    case treeUneven = "tree-uneven"
    case rowOrder = "rows-out-of-order"
    case overflow = "overflow-page"
    case freelist = "freelist-broken"
    case freelistCount = "freelist-count"
    case gapContent = "content-in-gap"
    case freeblockContent = "content-in-freeblock"
    case fragment = "fragment"
    case freePageContent = "content-in-free-page"

    // 6 rows
    case recordForm = "record-form"
    case valueType = "value-type"
    case valueLength = "value-length"

    // 7 chance
    case text = "text"
    case sameBytes = "same-bytes"
    case unevenRow = "uneven-row"
    case unevenColumn = "uneven-column"
    case unevenPosition = "uneven-position"
    case repeatedNonce = "repeated-nonce"
    case repeatedID = "repeated-id"
    case repeatedValue = "repeated-value"

    // 8 keys
    case keyFileMode = "key-file-mode"
    case keyFileOwner = "key-file-owner"
    case keyFileKind = "key-file-kind"
    case keyFileBesideData = "key-file-beside-data"
    case keyFileDamaged = "key-file-damaged"
    case keyFileUndeclared = "key-file-undeclared"
    case keyFileTwice = "key-file-twice"
    case rowDoesNotOpen = "row-does-not-open"
    case rowLayout = "row-layout"
    case padding = "padding-not-zero"
    case unknownService = "unknown-service"
    case tokenForm = "push-token-form"

    // 9 logs
    case foreignLine = "foreign-line"
    case unknownEvent = "unknown-event"
    case unknownField = "unknown-field"
    case valueForm = "value-form"
    case address = "address"
    case tokenLike = "token-like"

    /// The first finding of each check, in the order above.
    private static let firsts: [(finding: AuditFinding, check: AuditCheck)] = [
        (.fileMode, .place), (.magic, .header), (.extraTable, .schema), (.integrity, .integrity),
        (.pageMalformed, .pages), (.recordForm, .rows), (.text, .chance), (.keyFileMode, .keys),
        (.foreignLine, .logs),
    ]

    private static let checks: [AuditFinding: AuditCheck] = {
        var check = AuditCheck.place
        return Dictionary(
            uniqueKeysWithValues: allCases.map { finding in
                check = firsts.first { $0.finding == finding }?.check ?? check
                return (finding, check)
            })
    }()

    package var check: AuditCheck { Self.checks[self] ?? .place }
}

package struct AuditFindings: Sendable, Equatable {
    private var counts: [AuditFinding: Int] = [:]

    package init() {}

    mutating func note(_ finding: AuditFinding, count: Int = 1) {
        if count > 0 { counts[finding, default: 0] += count }
    }

    mutating func note(_ finding: AuditFinding, if isFound: Bool) { if isFound { note(finding) } }
    mutating func merge(_ others: AuditFindings) { counts.merge(others.counts) { $0 + $1 } }

    package var isEmpty: Bool { counts.isEmpty }

    /// In the order of the list above.
    package func found(in check: AuditCheck) -> [(finding: AuditFinding, count: Int)] {
        AuditFinding.allCases.filter { $0.check == check }.compactMap { finding in
            counts[finding].map { (finding, $0) }
        }
    }

    package func count(_ finding: AuditFinding) -> Int { counts[finding] ?? 0 }
}

/// The checks, in the order of the report. Numbers and names are part of the JSON and stay.
package enum AuditCheck: Int, Sendable, CaseIterable {
    /// Mode, owner, kind and links of the file, what lies beside it, and the directories above.
    case place = 1
    /// The first 100 bytes of the file.
    case header
    /// Tables, to the letter; no other table, column, index, trigger or view.
    case schema
    /// SQLite's own `integrity_check`.
    case integrity
    /// Every page reached exactly once, and nothing left in what is free.
    case pages
    /// Every value has the declared type and length.
    case rows
    /// Every value looks drawn by chance: text, padding, order and time would show.
    case chance
    /// With the keys: every row opens, and holds one push token and zeros.
    case keys
    /// With a log: nothing but the declared events.
    case logs

    package var word: String { String(describing: self) }
}
