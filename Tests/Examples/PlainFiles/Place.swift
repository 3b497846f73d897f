import WakeClient

/// How far the list was read: a file, and bytes of it. As a cursor it is text, such as
/// `120 2026-11-20.txt`.
struct Place {
    var file = ""
    var offset: UInt64 = 0

    init(file: String = "", offset: UInt64 = 0) {
        self.file = file
        self.offset = offset
    }

    init(_ cursor: DataCursor) throws {
        let words = String(decoding: cursor.bytes, as: UTF8.self).split(
            separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2, let offset = UInt64(words[0]) else {
            throw RecallList.Malformed()
        }
        self.init(file: String(words[1]), offset: offset)
    }

    var cursor: DataCursor { DataCursor(Array("\(offset) \(file)".utf8)) }
}
