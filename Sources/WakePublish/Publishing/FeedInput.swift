package import WakeFeed
package import WakeModel
import WakeSystem

/// The input of a publish, read from a file and free of repetitions.
package enum FeedInput: Sendable {
    /// Secrets, in the ascending order of their digests.
    case secrets([Item])
    /// Digests that were derived elsewhere, ascending.
    case digests([Digest])

    /// A secret and the note to its holders.
    package struct Item: Sendable {
        package let secret: SecretBytes
        let hash: SecretHash
        /// nil: the match alone.
        package let note: [UInt8]?
        /// Of the file, from 1; of a raw one the record.
        let line: Int

        var digest: Digest { hash.unsalted }
    }

    package enum Encoding: Sendable, Equatable {
        /// One item a line, hexadecimal or base64url; if one line is hexadecimal, all must be.
        case text
        /// One item a line: the bytes of the line as they are.
        case plain
        /// Items of this many bytes, one after the other.
        case raw(record: Int)
    }

    package var count: Int {
        switch self {
        case .secrets(let items): items.count
        case .digests(let digests): digests.count
        }
    }

    package var hasNotes: Bool {
        guard case .secrets(let items) = self else { return false }
        return items.contains { $0.note != nil }
    }

    /// Reads digests of 16 bytes.
    package init(
        digestsFrom file: [UInt8], encoding: Encoding = .text
    ) throws(FeedInputError) {
        let allowed = Digest.bytes...Digest.bytes
        var digests: [Digest] = []
        let parser = FeedInputParser(file: file, encoding: encoding, allowed: allowed)
        try parser.forEach { bytes, _ in digests.append(Digest(bytes)) }
        guard !digests.isEmpty else { throw .empty }
        digests.sort()
        var unique = digests.prefix(1)
        for digest in digests.dropFirst() where digest != unique[unique.endIndex - 1] {
            unique.append(digest)
        }
        self = .digests(Array(unique))
    }

    /// Reads secrets of 16 to 1024 bytes; `notes` has a line of text for each item, or one for all.
    package init(
        secretsFrom file: [UInt8], notes: [UInt8]? = nil, encoding: Encoding = .text
    ) throws(FeedInputError) {
        var secrets: [(bytes: SecretBytes, hash: SecretHash, line: Int)] = []
        var order: [(digest: Digest, index: Int)] = []
        // They come and go together.
        var pool = SecretPool(chunkBytes: 1 << 16)
        let parser = FeedInputParser(
            file: file, encoding: encoding, allowed: FeedLimits.secretBytes)
        try parser.forEach { bytes, line in
            let secret = pool.insert(bytes)
            let hash = SecretHash(of: secret)
            order.append((hash.unsalted, secrets.count))
            secrets.append((secret, hash, line))
        }
        guard !secrets.isEmpty else { throw .empty }
        let notes = try notes.map { file throws(FeedInputError) in
            try Self.notes(file, items: secrets.count)
        }
        // Sorting finds repetitions in less time than a dictionary, which hashes what is hashed.
        order.sort { $0.digest != $1.digest ? $0.digest < $1.digest : $0.index < $1.index }
        var items: [Item] = []
        items.reserveCapacity(secrets.count)
        var conflict: Int?
        for (digest, index) in order {
            let (secret, hash, line) = secrets[index]
            let note = notes.map { $0.count == 1 ? $0[0] : $0[index] }
            if let known = items.last, known.digest == digest {
                if known.note != note { conflict = min(conflict ?? line, line) }
            } else {
                items.append(Item(secret: secret, hash: hash, note: note, line: line))
            }
        }
        if let conflict { throw .conflictingNote(line: conflict) }
        self = .secrets(items)
    }

    /// The secrets of a file as a publish reads them, in the order of their lines, each once.
    package static func secretLines(
        of file: [UInt8], encoding: Encoding = .text
    ) throws(FeedInputError) -> [[UInt8]] {
        var secrets: [[UInt8]] = []
        var known: Set<[UInt8]> = []
        let parser = FeedInputParser(
            file: file, encoding: encoding, allowed: FeedLimits.secretBytes)
        try parser.forEach { bytes, _ in
            let secret = Array(copying: bytes)
            if known.insert(secret).inserted { secrets.append(secret) }
        }
        guard !secrets.isEmpty else { throw .empty }
        return secrets
    }

    private static func notes(_ file: [UInt8], items: Int) throws(FeedInputError) -> [[UInt8]] {
        var lines = FeedInputParser.lines(of: file).map { Array($0) }
        if lines.last?.isEmpty == true { lines.removeLast() }
        guard lines.count == 1 || lines.count == items else {
            throw .noteCount(notes: lines.count, items: items)
        }
        return lines
    }
}

private struct FeedInputParser {
    let file: [UInt8]
    let encoding: FeedInput.Encoding
    /// Bytes of an item.
    let allowed: ClosedRange<Int>

    /// - Parameter body: gets an item and its line, or its number in a raw file, from 1.
    func forEach(_ body: (Span<UInt8>, Int) -> Void) throws(FeedInputError) {
        switch encoding {
        case .raw(let record): try forEachRecord(of: record, body)
        case .text: try forEachLine(body)
        case .plain:
            for (line, text) in zip(1..., Self.lines(of: file)) where !text.isEmpty {
                try deliver(text.span, line, body)
            }
        }
    }

    private func forEachRecord(
        of record: Int, _ body: (Span<UInt8>, Int) -> Void
    ) throws(FeedInputError) {
        guard allowed.contains(record) else {
            throw .length(line: 1, bytes: record, allowed: allowed)
        }
        guard file.count % record == 0 else { throw .rawLength(bytes: file.count, record: record) }
        for (index, start) in stride(from: 0, to: file.count, by: record).enumerated() {
            body(file.span.extracting(start..<start + record), index + 1)
        }
    }

    private func forEachLine(_ body: (Span<UInt8>, Int) -> Void) throws(FeedInputError) {
        let lines = Self.lines(of: file)
        // A typing error in a hexadecimal line often leaves valid base64url, of something else.
        // No line is hexadecimal by chance, 22 of 64 characters, 22 times; nor all but two of 32.
        let isHex =
            lines.contains { $0.count >= 16 && Self.isHex($0) }
            || lines.allSatisfy { $0.isEmpty || $0.count >= 32 && Self.isHex($0, butFor: 2) }
        for (line, text) in zip(1..., lines) where !text.isEmpty {
            let text = Array(text)
            guard let bytes = isHex ? Hex.decode(text.span) : Base64URL.decode(text.span) else {
                throw .notText(line: line, FeedInputError.Flaw(of: text, isHex: isHex))
            }
            try deliver(bytes.span, line, body)
        }
    }

    private func deliver(
        _ bytes: Span<UInt8>, _ line: Int, _ body: (Span<UInt8>, Int) -> Void
    ) throws(FeedInputError) {
        guard allowed.contains(bytes.count) else {
            throw .length(line: line, bytes: bytes.count, allowed: allowed)
        }
        body(bytes, line)
    }

    /// Lines without LF or CR LF.
    static func lines(of file: [UInt8]) -> [ArraySlice<UInt8>] {
        file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
    }

    /// Whether all characters but a few are hexadecimal digits.
    private static func isHex(_ line: ArraySlice<UInt8>, butFor most: Int = 0) -> Bool {
        var others = 0
        for byte in line where !byte.isHexDigit {
            others += 1
            if others > most { return false }
        }
        return true
    }
}

/// A fault in the input of a publish. Has the place, from 1, never the contents.
package enum FeedInputError: Error, Equatable, Sendable {
    case notText(line: Int, Flaw)
    /// The length of a decoded line, and the allowed ones.
    case length(line: Int, bytes: Int, allowed: ClosedRange<Int>)
    case rawLength(bytes: Int, record: Int)
    case empty
    case noteCount(notes: Int, items: Int)
    case conflictingNote(line: Int)
    /// Digests are of unknown secrets: nothing can be sealed for them.
    case notesForDigests

    /// The place in a line that is neither hexadecimal nor base64url.
    package enum Flaw: Equatable, Sendable {
        /// The first character that does not belong there, from 1, and what it is.
        case character(Int, Sign)
        /// An odd number of hexadecimal digits, or a length that base64url cannot have.
        case length
        /// Base64url whose last character carries more bits than belong to whole bytes.
        case rest

        package enum Sign: Equatable, Sendable {
            case byteOrderMark, blank, quote, padding, standardBase64, letter, other

            fileprivate var phrase: String {
                switch self {
                case .byteOrderMark: "a byte order mark: save the file without it"
                case .blank: "a blank or a tab"
                case .quote: "a quotation mark"
                case .padding: "the padding of base64, which base64url leaves out"
                case .standardBase64: "of base64; base64url has - for + and _ for /"
                case .letter: "no hexadecimal digit, as the others are"
                case .other: "of neither hexadecimal nor base64url"
                }
            }
        }

        init(of line: [UInt8], isHex: Bool) {
            let index = line.firstIndex { byte in
                isHex ? !byte.isHexDigit : !(byte.isAlphanumeric || "-_".utf8.contains(byte))
            }
            guard let index else {
                self = isHex || line.count % 4 == 1 ? .length : .rest
                return
            }
            let sign: Sign =
                switch line[index] {
                case 0xEF where index == 0 && line.starts(with: [0xEF, 0xBB, 0xBF]): .byteOrderMark
                case 0x09, 0x20: .blank
                case UInt8(ascii: "\""), UInt8(ascii: "'"): .quote
                case UInt8(ascii: "="): .padding
                case UInt8(ascii: "+"), UInt8(ascii: "/"): .standardBase64
                case let byte where byte.isAlphanumeric || "-_".utf8.contains(byte): .letter
                default: .other
                }
            self = .character(index + 1, sign)
        }

        fileprivate var phrase: String {
            switch self {
            case .character(let place, let sign): "character \(place) is \(sign.phrase)"
            case .length: "a character is missing, or there is one too many"
            case .rest: "the last character is wrong, or others are missing"
            }
        }
    }

    /// The fault and what to do, in English.
    package var message: String {
        switch self {
        case .notText(let line, let flaw): "line \(line): \(flaw.phrase)"
        case .length(let line, let bytes, let allowed) where allowed.count == 1:
            "line \(line): \(bytes) bytes where \(allowed.lowerBound) are needed"
        case .length(let line, let bytes, let allowed):
            "line \(line): \(bytes) bytes; allowed are "
                + "\(allowed.lowerBound) to \(allowed.upperBound)"
        case .rawLength(let bytes, let record): "\(bytes) raw bytes are no multiple of \(record)"
        case .empty: "the input is empty"
        case .noteCount(let notes, let items):
            "\(notes) notes for \(items) items; give one for each line, or one for all"
        case .conflictingNote(let line): "line \(line): the same secret again with another note"
        case .notesForDigests: "notes are sealed with secrets; publish secrets, not digests"
        }
    }
}
