internal import WakeModel

/// The items of an input file as bytes, with the line each stands in.
struct FeedInputLines {
    private let file: [UInt8]
    private let encoding: FeedInput.Encoding

    init(_ file: [UInt8], encoding: FeedInput.Encoding) {
        self.file = file
        self.encoding = encoding
    }

    /// - Parameters:
    ///   - allowed: bytes of an item.
    ///   - body: gets an item and its line, or its number in a raw file, from 1.
    func forEach(
        allowed: ClosedRange<Int>, _ body: ([UInt8], Int) -> Void
    ) throws(FeedInputError) {
        switch encoding {
        case .raw(let record): try forEachRecord(of: record, allowed: allowed, body)
        case .text: try forEachLine(allowed: allowed, body)
        }
    }

    private func forEachRecord(
        of record: Int, allowed: ClosedRange<Int>, _ body: ([UInt8], Int) -> Void
    ) throws(FeedInputError) {
        guard allowed.contains(record) else {
            throw .length(line: 1, bytes: record, allowed: allowed)
        }
        guard file.count % record == 0 else {
            throw .rawLength(bytes: file.count, record: record)
        }
        for (index, start) in stride(from: 0, to: file.count, by: record).enumerated() {
            body(Array(file[start..<start + record]), index + 1)
        }
    }

    private func forEachLine(
        allowed: ClosedRange<Int>, _ body: ([UInt8], Int) -> Void
    ) throws(FeedInputError) {
        let lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
        // A slip in a hexadecimal line often leaves valid base64url, of something else. A line that
        // is hexadecimal by chance does not happen: 22 of 64 characters, 22 times.
        let isHex = lines.contains { $0.count >= 16 && Self.isHex($0) }
        for (index, line) in lines.enumerated() where !line.isEmpty {
            let text = Array(line)
            if isHex, !Self.isHex(line) { throw .mixed(line: index + 1) }
            guard let bytes = isHex ? Hex.decode(text.span) : Base64URL.decode(text.span) else {
                throw .notText(line: index + 1)
            }
            guard allowed.contains(bytes.count) else {
                throw .length(line: index + 1, bytes: bytes.count, allowed: allowed)
            }
            body(bytes, index + 1)
        }
    }

    private static func isHex(_ line: ArraySlice<UInt8>) -> Bool {
        line.count % 2 == 0 && line.allSatisfy { Hex.value($0) != nil }
    }
}
