import Foundation
import WakeClient

/// Recalled products, as a shop publishes them already: a directory of text files, the number of
/// one batch a line. Names of files sort by age, every line ends with a newline, and nothing is
/// added to a file once there is a newer one.
///
/// Here the directory is on this machine, so that it is also the past that `recheck` looks
/// through. An app that fetches such files would keep them for that. Whether they are the shop's,
/// it would have to check as well: that is what the signed feed has signatures for.
struct RecallList: DataSource {
    /// A line has no end, or a name cannot be read as text.
    struct Malformed: Error {}

    /// Read in one piece, bytes; a line is shorter.
    static let pieceByteCount = 65_536

    let directory: URL
    let cupboard: Cupboard

    func fetch(after cursor: DataCursor?) throws -> DataPage<[String]> {
        let place = try cursor.map(Place.init) ?? Place()
        for name in try names() where name >= place.file {
            let start = name == place.file ? place.offset : 0
            let (lines, end) = try lines(of: name, from: start)
            if lines.isEmpty { continue }
            // Whether there is more, the next page will show: a page without lines is the last.
            return DataPage(
                batches: [lines], cursor: Place(file: name, offset: end).cursor, hasMore: true)
        }
        return DataPage(batches: [], cursor: place.cursor)
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
        let bytes = try file.read(upToCount: Self.pieceByteCount) ?? Data()
        guard let last = bytes.lastIndex(of: UInt8(ascii: "\n")) else {
            guard bytes.count < Self.pieceByteCount else { throw Malformed() }
            return ([], offset)
        }
        let complete = bytes[...last]
        let lines = complete.split(separator: UInt8(ascii: "\n"))
        return (
            lines.map { String(decoding: $0, as: UTF8.self) }, offset + UInt64(complete.count)
        )
    }
}
