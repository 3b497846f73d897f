import Foundation
import Reveille

/// Recalled products, as a shop publishes them already: a directory of text files, the number of
/// one batch a line. Names of files sort by age, every line ends with a newline, and nothing is
/// added to a file once there is a newer one.
///
/// Here the directory is on this machine, so that it is also the past that `recheck` looks
/// through. An app that fetches such files would keep them for that, and would check that they are
/// the shop's: for that the signed feed has signatures.
struct RecallList: DataSource {
    /// A line has no end, or a name cannot be read as text.
    struct Malformed: Error {}

    /// Bytes read at once; a line is shorter.
    static let chunkByteCount = 65_536

    let directory: URL
    let cupboard: Cupboard

    func fetch(after cursor: DataCursor?) throws -> DataPage<[String]> {
        let position = try cursor.map(ReadPosition.init) ?? ReadPosition()
        for name in try names() where name >= position.file {
            let start = name == position.file ? position.offset : 0
            let (lines, end) = try lines(of: name, from: start)
            if lines.isEmpty { continue }
            // Whether there is more, the next page will show: a page without lines is the last.
            return DataPage(
                batches: [lines], cursor: ReadPosition(file: name, offset: end).cursor,
                hasMore: true)
        }
        return DataPage(batches: [], cursor: position.cursor)
    }

    func check(_ lines: [String]) throws -> [Match] {
        let owned = try cupboard.numbers()
        return lines.filter(owned.contains).map {
            Match(item: Array($0.utf8), secretID: $0)
        }
    }

    func generation() throws -> UInt64 { try cupboard.generation() }

    func recheck() throws -> [Match] {
        var matches: [Match] = []
        for name in try names() {
            var (lines, end) = try lines(of: name, from: 0)
            while !lines.isEmpty {
                matches += try check(lines)
                (lines, end) = try self.lines(of: name, from: end)
            }
        }
        return matches
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
            .filter { $0.hasSuffix(".txt") }.sorted()
    }

    /// The next lines of a file that are complete.
    private func lines(
        of name: String, from offset: UInt64
    ) throws -> (lines: [String], end: UInt64) {
        let file = try FileHandle(forReadingFrom: directory.appending(path: name))
        defer { try? file.close() }
        try file.seek(toOffset: offset)
        let bytes = try file.read(upToCount: Self.chunkByteCount) ?? Data()
        guard let last = bytes.lastIndex(of: UInt8(ascii: "\n")) else {
            guard bytes.count < Self.chunkByteCount else { throw Malformed() }
            return ([], offset)
        }
        let complete = bytes[...last]
        let lines = complete.split(separator: UInt8(ascii: "\n"))
        return (
            lines.map { String(decoding: $0, as: UTF8.self) }, offset + UInt64(complete.count)
        )
    }
}

/// The position up to which the list was read: a file, and bytes of it. As a cursor it is text,
/// such as `120 2026-11-20.txt`.
struct ReadPosition {
    var file = ""
    var offset: UInt64 = 0

    init(file: String = "", offset: UInt64 = 0) {
        self.file = file
        self.offset = offset
    }

    init(_ cursor: DataCursor) throws {
        let parts = String(decoding: cursor.bytes, as: UTF8.self).split(
            separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let offset = UInt64(parts[0]) else {
            throw RecallList.Malformed()
        }
        self.init(file: String(parts[1]), offset: offset)
    }

    var cursor: DataCursor { DataCursor(Array("\(offset) \(file)".utf8)) }
}

/// The local secrets: a file with the number of one batch a line, of products at home.
struct Cupboard {
    let file: URL

    func numbers() throws -> Set<String> {
        let text = try String(contentsOf: file, encoding: .utf8)
        return Set(text.split(separator: "\n").map(String.init))
    }

    /// Another number for other contents: FNV-1a, which is good enough for that.
    func generation() throws -> UInt64 {
        try Data(contentsOf: file).reduce(0xcbf2_9ce4_8422_2325) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
    }
}
