import WakeModel

/// What this service did since it was started, for everybody: in memory only, rounded, and without
/// anything that is about one person.
struct PublicCounters: Sendable, Equatable {
    struct Row: Sendable, Equatable {
        /// For scripts.
        let name: StaticString
        /// For people.
        let words: StaticString
        let count: RoundedCount

        static func == (one: Row, other: Row) -> Bool {
            one.name.description == other.name.description && one.count == other.count
        }
    }

    var rows: [Row] = []

    mutating func add(_ name: StaticString, _ words: StaticString, _ exact: Int) {
        rows.append(Row(name: name, words: words, count: RoundedCount(exact)))
    }

    mutating func add(_ name: StaticString, _ words: StaticString, _ exact: UInt64) {
        add(name, words, Int(clamping: exact))
    }

    /// One object; a count that is not told is null.
    func encode() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        text.member("roundedTo", number: RoundedCount.step)
        text.member("nullUnder", number: RoundedCount.least)
        text.beginObject("since_start")
        for row in rows { text.member(row.name, raw: row.count.value.map(String.init) ?? "null") }
        text.endObject()
        text.endObject()
        return text.bytes + [UInt8(ascii: "\n")]
    }
}
