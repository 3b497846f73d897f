import Foundation
import Reveille

/// Recalled products, as a shop publishes them already: a file `index` with the names of text
/// files, one a line, and those files beside it, the number of one batch a line. Names sort by age,
/// every line ends with a newline, and nothing is added to a file once there is a newer one.
///
/// What was fetched is kept: it is the past that `recheck` looks through. An app of this kind must
/// also check that the files are the shop's: for that the signed feed has signatures.
struct RecallList: DataSource {
    /// A line has no end, or a name is none.
    struct Malformed: Error {}

    /// Bytes fetched at once; a line is shorter.
    static let chunkByteCount = 65_536

    /// The address of the shop's directory, with a slash at its end.
    let address: String
    let fetch: PrivateFetch
    /// A directory of this app for what was fetched.
    let kept: URL
    let cupboard: Cupboard

    func fetch(after cursor: DataCursor?) async throws -> DataPage<[String]> {
        let position = try cursor.map(ReadPosition.init) ?? ReadPosition()
        for name in try await publishedNames() where name >= position.file {
            let start = name == position.file ? position.offset : 0
            let bytes = try await fetch.bytes(
                from: address + name, in: start..<start + Self.chunkByteCount)
            let lines = try Lines(bytes)
            if lines.texts.isEmpty { continue }
            try keep(lines.bytes, of: name, at: start)
            // Whether there is more, the next page will show: a page without lines is the last.
            return DataPage(
                batches: [lines.texts],
                cursor: ReadPosition(file: name, offset: start + lines.bytes.count).cursor,
                hasMore: true)
        }
        return DataPage(batches: [], cursor: position.cursor)
    }

    func check(_ lines: [String]) throws -> [Match] {
        let owned = try cupboard.numbers()
        return lines.filter(owned.contains).map { Match(item: $0, secretID: $0) }
    }

    func generation() throws -> UInt64 { try cupboard.generation() }

    func recheck() throws -> [Match] {
        guard FileManager.default.fileExists(atPath: kept.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: kept.path).sorted().flatMap {
            let bytes = try Data(contentsOf: kept.appending(path: $0))
            return try check(Lines(Array(bytes), isWhole: true).texts)
        }
    }

    private func publishedNames() async throws -> [String] {
        let index = try await fetch.bytes(from: address + "index", limit: Self.chunkByteCount)
        let names = try Lines(index, isWhole: true).texts
        // They become names of files here.
        guard names.allSatisfy({ !$0.hasPrefix(".") && !$0.contains("/") }) else {
            throw Malformed()
        }
        return names.sorted()
    }

    /// Can be repeated: after a crash the same bytes are fetched again.
    private func keep(_ bytes: [UInt8], of name: String, at offset: Int) throws {
        try FileManager.default.createDirectory(at: kept, withIntermediateDirectories: true)
        let path = kept.appending(path: name)
        if offset == 0 { return try Data(bytes).write(to: path) }
        let file = try FileHandle(forWritingTo: path)
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
    }
}

/// The complete lines at the beginning of some bytes.
struct Lines {
    let bytes: [UInt8]
    let texts: [String]

    /// - Parameter isWhole: nothing follows.
    init(_ all: [UInt8], isWhole: Bool = false) throws {
        let end = all.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        if end == 0, all.count >= RecallList.chunkByteCount { throw RecallList.Malformed() }
        if isWhole, end < all.count { throw RecallList.Malformed() }
        bytes = Array(all[..<end])
        texts = bytes.split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}

/// The position up to which the list was read: a file, and bytes of it. As a cursor it is text,
/// such as `120 2026-11-20.txt`.
struct ReadPosition {
    var file = ""
    var offset = 0

    init(file: String = "", offset: Int = 0) {
        self.file = file
        self.offset = offset
    }

    init(_ cursor: DataCursor) throws {
        let parts = cursor.text.split(
            separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let offset = Int(parts[0]), offset >= 0 else {
            throw RecallList.Malformed()
        }
        self.init(file: String(parts[1]), offset: offset)
    }

    var cursor: DataCursor { DataCursor("\(offset) \(file)") }
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
