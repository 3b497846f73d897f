import WakeBytes
private import WakeCrypto

/// A signed note (C2SP signed-note): text that ends in a newline, and lines with signatures of it.
/// Its text means nothing until a signature of a known key was verified.
package struct SignedNote: Sendable, Hashable {
    /// Bounds of what is read; the specification asks for 16 signatures at least.
    package static let byteLimit = 256 << 10
    package static let signatureLimit = 100

    /// With the last newline, without the empty line that separates the signatures.
    package let text: [UInt8]
    package private(set) var signatures: [NoteSignature]

    package init(text: [UInt8], signatures: [NoteSignature]) {
        precondition(Self.isText(text), "a note's text ends in a newline")
        self.text = text
        self.signatures = signatures
    }

    /// - Returns: nil unless the bytes are a note.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.byteLimit, Self.isText(bytes),
            // The last empty line: signatures follow it, each with a newline of its own.
            let end = bytes.indices.dropLast().last(where: {
                bytes[$0] == .newline && bytes[$0 + 1] == .newline
            }),
            let signatures = NoteSignature.lines(bytes[(end + 2)...])
        else { return nil }
        text = Array(bytes[...end])
        self.signatures = signatures
    }

    package mutating func append(_ signature: NoteSignature) { signatures.append(signature) }

    package var bytes: [UInt8] {
        signatures.reduce(into: text + [.newline]) { $0 += $1.line }
    }

    /// UTF-8 without control characters but newlines, the last of which ends it.
    private static func isText(_ bytes: [UInt8]) -> Bool {
        bytes.last == .newline && bytes.allSatisfy { $0 >= 0x20 || $0 == .newline }
            && String(utf8: bytes) != nil
    }
}

/// A line of a signed note: `— name base64(key ID || signature)`.
package struct NoteSignature: Sendable, Hashable {
    package let name: NoteKeyName
    package let keyID: UInt32
    /// By the key's algorithm; not empty.
    package let bytes: [UInt8]

    /// U+2014 and a space.
    private static let mark = Array("— ".utf8)

    package init(name: NoteKeyName, keyID: UInt32, bytes: [UInt8]) {
        precondition(!bytes.isEmpty)
        self.name = name
        self.keyID = keyID
        self.bytes = bytes
    }

    /// With its newline.
    package var line: [UInt8] {
        var signed: [UInt8] = []
        signed.append(bigEndian: keyID)
        signed += bytes
        return Self.mark + name.bytes + [UInt8(ascii: " ")] + Base64.encode(signed.span)
            + [.newline]
    }

    /// Signature lines: the end of a note, or a witness's response.
    /// - Returns: nil unless there is one or more, and nothing else.
    package static func lines(_ bytes: some Collection<UInt8>) -> [NoteSignature]? {
        var reader = LineReader(Array(bytes))
        var signatures: [NoteSignature] = []
        while let line = reader.next() {
            guard signatures.count < SignedNote.signatureLimit,
                let signature = NoteSignature(line)
            else { return nil }
            signatures.append(signature)
        }
        return reader.rest.isEmpty && !signatures.isEmpty ? signatures : nil
    }

    private init?(_ line: ArraySlice<UInt8>) {
        guard line.starts(with: Self.mark) else { return nil }
        let parts = line.dropFirst(Self.mark.count)
            .split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 2, let name = NoteKeyName(Array(parts[0])),
            let signed = Base64.decode(Array(parts[1]).span), signed.count > 4
        else { return nil }
        self.init(name: name, keyID: signed.span.bigEndian(at: 0), bytes: Array(signed[4...]))
    }
}

/// The name of a key of notes, compared byte by byte; by recommendation a URL without scheme.
package struct NoteKeyName: Sendable, Hashable {
    /// UTF-8 of at least one character, none of them a space, a control character or a plus sign.
    package let bytes: [UInt8]

    /// - Returns: nil unless the bytes are a name.
    package init?(_ bytes: [UInt8]) {
        guard !bytes.isEmpty, let text = String(utf8: bytes),
            text.unicodeScalars.allSatisfy({
                $0 != "+" && $0.value >= 0x20 && !$0.properties.isWhitespace
            })
        else { return nil }
        self.bytes = bytes
    }

    package init?(_ text: String) { self.init(Array(text.utf8)) }

    /// - Parameter bytes: known to be a name.
    init(trusted bytes: [UInt8]) { self.bytes = bytes }

    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// A reader of lines, each of which ends in a newline.
package struct LineReader {
    /// What was not read.
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// The next line without its newline; nil when none ends.
    package mutating func next() -> ArraySlice<UInt8>? {
        guard let end = rest.firstIndex(of: .newline) else { return nil }
        defer { rest = rest[(end + 1)...] }
        return rest[..<end]
    }
}

extension UInt8 {
    package static let newline = UInt8(ascii: "\n")
}

extension UInt64 {
    /// - Parameter text: ASCII digits without leading zeros; nil for any other text.
    package init?(canonical text: some Collection<UInt8>) {
        guard let first = text.first, text.allSatisfy(\.isDigit), text.count <= 20,
            first != UInt8(ascii: "0") || text.count == 1
        else { return nil }
        self.init(String(decoding: text, as: UTF8.self))
    }

    /// ASCII digits without leading zeros.
    package var canonical: [UInt8] { Array(String(self).utf8) }
}
