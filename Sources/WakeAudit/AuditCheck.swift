/// What is looked at, in the order it is said. Numbers and words are part of the JSON and stay.
package enum AuditCheck: Int, Sendable, CaseIterable {
    /// Mode, owner and kind of the file, what lies beside it, and that the log is empty.
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

    package var word: StaticString {
        switch self {
        case .place: "place"
        case .header: "header"
        case .schema: "schema"
        case .integrity: "integrity"
        case .pages: "pages"
        case .rows: "rows"
        case .chance: "chance"
        case .keys: "keys"
        case .logs: "logs"
        }
    }
}
