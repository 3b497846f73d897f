package import WakeModel

/// What an operator wants published, read from a file and free of repetitions.
package enum FeedInput: Sendable {
    /// Secrets, from which digests are derived here.
    case secrets([Item])
    /// Digests that were derived elsewhere, ascending.
    case digests([Digest], width: DigestWidth)

    /// A secret and what its holders are told.
    package struct Item: Sendable {
        package let secret: SecretBytes
        /// nil: nothing but the match itself.
        package let note: [UInt8]?
    }

    /// How the bytes of a file stand for items.
    package enum Encoding: Sendable, Equatable {
        /// One item a line, hexadecimal or base64url; if one line is hexadecimal, all must be.
        case text
        /// Items of this many bytes, one after the other.
        case raw(record: Int)
    }

    package var count: Int {
        switch self {
        case .secrets(let items): items.count
        case .digests(let digests, _): digests.count
        }
    }

    package var hasNotes: Bool {
        guard case .secrets(let items) = self else { return false }
        return items.contains { $0.note != nil }
    }

    /// Reads digests.
    package init(
        digestsFrom file: [UInt8], width: DigestWidth, encoding: Encoding = .text
    ) throws(FeedInputError) {
        let allowed = width.rawValue...width.rawValue
        var digests: [Digest] = []
        try FeedInputLines(file, encoding: encoding).forEach(allowed: allowed) { bytes, _ in
            digests.append(Digest(bytes.span, width: width))
        }
        guard !digests.isEmpty else { throw .empty }
        digests.sort()
        var unique = digests.prefix(1)
        for digest in digests.dropFirst() where digest != unique[unique.endIndex - 1] {
            unique.append(digest)
        }
        self = .digests(Array(unique), width: width)
    }

    /// Reads secrets of 16 to 1024 bytes.
    /// - Parameter notes: a file with one line of text for each item, or one line for all of them.
    package init(
        secretsFrom file: [UInt8], notes: [UInt8]? = nil, encoding: Encoding = .text
    ) throws(FeedInputError) {
        var secrets: [(bytes: [UInt8], line: Int)] = []
        try FeedInputLines(file, encoding: encoding).forEach(allowed: FeedLimits.secretBytes) {
            secrets.append(($0, $1))
        }
        guard !secrets.isEmpty else { throw .empty }
        let notes = try notes.map { file throws(FeedInputError) in
            try Self.notes(file, items: secrets.count)
        }
        var places: [[UInt8]: Int] = [:]
        var items: [Item] = []
        for (index, secret) in secrets.enumerated() {
            let note = notes.map { $0.count == 1 ? $0[0] : $0[index] }
            if let place = places[secret.bytes] {
                guard items[place].note == note else {
                    throw .conflictingNote(line: secret.line)
                }
                continue
            }
            places[secret.bytes] = items.count
            items.append(Item(secret: SecretBytes(secret.bytes), note: note))
        }
        self = .secrets(items)
    }

    private static func notes(_ file: [UInt8], items: Int) throws(FeedInputError) -> [[UInt8]] {
        var lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { Array($0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0) }
        if lines.last?.isEmpty == true { lines.removeLast() }
        guard lines.count == 1 || lines.count == items else {
            throw .noteCount(notes: lines.count, items: items)
        }
        return lines
    }
}
