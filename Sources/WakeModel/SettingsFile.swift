/// A key of a file of settings, as messages and manuals describe it.
package struct SettingKey: Sendable {
    package let name: String
    /// The values it takes.
    package let takes: String
    /// Its value where the key is missing; nil: there is none.
    package let usual: String?
    package let meaning: String

    package init(_ name: String, _ takes: String, usual: String? = nil, _ meaning: String) {
        (self.name, self.takes, self.usual, self.meaning) = (name, takes, usual, meaning)
    }
}

/// Reads the lines `key = value` in `[sections]` of a file of settings; every mistake is an error
/// with its line number.
package struct SettingsFile {
    package struct Entry {
        package let section: String
        package let key: String
        package let value: String
        /// With the section, e.g. `http.listen`.
        package let name: String

        /// - Parameter takes: what the key takes instead of this value.
        package func fault(takes: String) -> String {
            "\(key) takes \(takes)" + (value.hasPrefix("\"") ? ", without quotes" : "")
        }
    }

    /// The line that opens each section of the file, and the line of each key.
    package private(set) var sectionLines: [String: Int] = [:]
    package private(set) var keyLines: [String: Int] = [:]
    private let known: Set<String>
    private var section = ""
    private var line = 0

    /// - Parameters:
    ///   - known: the names of the keys that there are, each with its section.
    ///   - take: gets every entry in the order of the file; a sentence is a mistake in its line.
    package init(
        _ text: String, known: Set<String>, _ take: (Entry) -> String?
    ) throws(SettingsFault) {
        self.known = known
        // A path would end there for the kernel, and be another file than the one in the text.
        if let end = text.utf8.firstIndex(of: 0) {
            line = text.utf8[..<end].count { $0 == UInt8(ascii: "\n") } + 1
            throw fault("a NUL byte, which a power cut leaves: bring the file back from a copy")
        }
        // A carriage return with its line feed is one `Character`.
        let isEnd = { (character: Character) in character == "\n" || character == "\r\n" }
        // Some editors begin a file with a byte order mark (Unicode §23.8).
        let text =
            text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: isEnd) {
            self.line += 1
            guard let entry = try read(line) else { continue }
            if let mistake = take(entry) { throw fault(mistake) }
        }
    }

    /// Whether nothing is set: no bytes, as after a power cut, or comments and sections alone.
    package static func isEmpty(_ text: String) -> Bool {
        !text.split(whereSeparator: \.isNewline).contains { withoutComment($0).contains("=") }
    }

    private mutating func read(_ line: Substring) throws(SettingsFault) -> Entry? {
        let text = Self.trim(Self.withoutComment(line))
        if text.isEmpty { return nil }
        if text.hasPrefix("[") {
            guard text.hasSuffix("]") else { throw fault("a section must end with ]") }
            try open(String(text.dropFirst().dropLast()))
            return nil
        }
        guard let equals = text.firstIndex(of: "=") else { throw fault("expected key = value") }
        let key = String(Self.trim(text[..<equals]))
        let value = String(Self.trim(text[text.index(after: equals)...]))
        let name = "\(section).\(key)"
        guard known.contains(name) else { throw unknown(key) }
        guard keyLines.updateValue(self.line, forKey: name) == nil else {
            throw fault("\(key) is set twice")
        }
        return Entry(section: section, key: key, value: value, name: name)
    }

    private mutating func open(_ section: String) throws(SettingsFault) {
        self.section = section
        guard known.contains(where: { $0.hasPrefix(section + ".") }) else {
            let sections = Set(known.map { String($0.prefix { $0 != "." }) })
            let meant = Spelling.nearest(to: section, in: sections.sorted())
                .map { "; did you mean [\($0)]?" }
            throw fault("unknown section [\(section)]" + (meant ?? ""))
        }
        sectionLines[section] = line
    }

    private func unknown(_ key: String) -> SettingsFault {
        guard !section.isEmpty else { return fault("\(key) stands before the first [section]") }
        let prefix = section + "."
        let candidates = known.filter { $0.hasPrefix(prefix) }
            .map { String($0.dropFirst(prefix.count)) }
        let meant = Spelling.nearest(to: key, in: candidates.sorted())
            .map { "; did you mean \($0)?" }
        return fault("unknown key \(key) in [\(section)]" + (meant ?? ""))
    }

    private func fault(_ text: String) -> SettingsFault { SettingsFault(line: line, text: text) }

    /// A comment begins with `#` at the start of the line or after white space: within a word it
    /// is part of a value, such as a path. One with `;` has the line for itself.
    private static func withoutComment(_ line: Substring) -> Substring {
        if trim(line).hasPrefix(";") { return "" }
        var previous: Character = " "
        return line.prefix { character in
            defer { previous = character }
            return character != "#" || ![" ", "\t"].contains(previous)
        }
    }

    private static func trim(_ text: Substring) -> Substring {
        let blanks: Set<Character> = [" ", "\t", "\r"]
        var text = text.drop(while: blanks.contains)
        while let last = text.last, blanks.contains(last) { text = text.dropLast() }
        return text
    }
}

/// A mistake in a file of settings, with its line.
package struct SettingsFault: Error, Equatable {
    /// 0: the mistake is not in one line.
    package let line: Int
    package let text: String

    package init(line: Int = 0, text: String) { (self.line, self.text) = (line, text) }

    package var message: String { line > 0 ? "line \(line): \(text)" : text }
}

/// The word that a mistyped one was probably meant to be.
package enum Spelling {
    /// The candidate at most two edits away, if one is clearly meant (Levenshtein distance).
    package static func nearest(to word: String, in candidates: [String]) -> String? {
        func distance(_ a: [Character], _ b: [Character]) -> Int {
            var row = Array(0...b.count)
            for (i, x) in a.enumerated() {
                var diagonal = row[0]
                row[0] = i + 1
                for (j, y) in b.enumerated() {
                    let cost = diagonal + (x == y ? 0 : 1)
                    diagonal = row[j + 1]
                    row[j + 1] = min(cost, row[j] + 1, row[j + 1] + 1)
                }
            }
            return row[b.count]
        }
        let scored = candidates.map { (distance(Array(word), Array($0)), $0) }
        guard let best = scored.min(by: { $0.0 < $1.0 }), best.0 <= 2 else { return nil }
        return best.1
    }
}
