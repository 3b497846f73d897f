private import WakeModel
import WakePush
import WakeRelay

/// Reads `key = value` lines in `[sections]`; every mistake is an error with its line number.
package struct ConfigurationParser {
    private var configuration: Configuration
    private let directory: String
    private var section = ""
    private var line = 0
    private var sectionLines: [String: Int] = [:]
    private var keyLines: [String: Int] = [:]

    /// - Parameter directory: where relative paths start: the directory of the file.
    package static func parse(
        _ text: String, directory: String
    ) throws(ConfigurationError) -> Configuration {
        var parser = ConfigurationParser(directory: directory)
        // A path would end there for the kernel, and be another file than the one in the text.
        if let end = text.utf8.firstIndex(of: 0) {
            throw ConfigurationError(
                line: text.utf8[..<end].count { $0 == UInt8(ascii: "\n") } + 1,
                text: "a NUL byte, which a power cut leaves: bring the file back from a copy")
        }
        // A carriage return with its line feed is one `Character`.
        let isEnd = { (character: Character) in character == "\n" || character == "\r\n" }
        // Some editors begin a file with a byte order mark (Unicode §23.8).
        let text =
            text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: isEnd) {
            parser.line += 1
            try parser.read(line)
        }
        try parser.finish()
        return parser.configuration
    }

    /// Whether nothing is set: no bytes, as after a power cut, or comments and sections alone.
    package static func isEmpty(_ text: String) -> Bool {
        !text.split(whereSeparator: \.isNewline).contains { withoutComment($0).contains("=") }
    }

    private mutating func finish() throws(ConfigurationError) {
        try checkAddresses()
        if case .tcp = configuration.admin, configuration.adminToken == nil {
            throw ConfigurationError(
                line: keyLines["admin.listen"] ?? 0,
                text: "listen on TCP needs a token in [admin], as every user of this machine can "
                    + "connect: token = FILE, made by `reveille keygen --kind admin FILE`")
        }
        for section in GatewaySection.all {
            do throws(GatewaySectionFault) {
                try section.read(configuration.sections[section.name] ?? [:], &configuration)
            } catch { throw self.error(error, section: section.name, words: section.words) }
        }
        do throws(GatewaySectionFault) {
            configuration.relay = try RelaySettings(
                section: configuration.sections["relay"] ?? [:], directory: directory)
        } catch { throw self.error(error, section: "relay", words: RelaySettings.words) }
    }

    /// With the line of the wrong key; for a missing one, the line that opens the section.
    private func checkAddresses() throws(ConfigurationError) {
        let addresses = configuration.addresses
        for (index, (section, address)) in addresses.enumerated() {
            func error(_ text: String) -> ConfigurationError {
                ConfigurationError(
                    line: keyLines["\(section).listen"] ?? 0, text: "[\(section)] listen " + text)
            }
            // `sun_path` with its end (unix(7)).
            if case .unix(let path) = address, path.utf8.count > 107 {
                throw error("has a path that is too long: a socket's has 107 bytes at most")
            }
            if let other = addresses[..<index].first(where: { $0.1.collides(with: address) }) {
                throw error(
                    "is the address of [\(other.section)] listen: each needs one of its own")
            }
        }
    }

    private func error(
        _ fault: GatewaySectionFault, section: String, words: [SectionKey]
    ) -> ConfigurationError {
        let line = fault.key.flatMap { keyLines["\(section).\($0)"] } ?? sectionLines[section]
        return ConfigurationError(
            line: line ?? 0, text: fault.message(section: section, words: words))
    }

    private init(directory: String) {
        self.directory = directory
        configuration = Configuration(directory: directory)
    }

    private mutating func read(_ line: Substring) throws(ConfigurationError) {
        let text = Self.trim(Self.withoutComment(line))
        if text.isEmpty { return }
        if text.hasPrefix("[") {
            guard text.hasSuffix("]") else { throw error("a section must end with ]") }
            section = String(text.dropFirst().dropLast())
            guard Self.keys.keys.contains(where: { $0.hasPrefix(section + ".") }) else {
                let sections = Set(Self.keys.keys.map { String($0.prefix { $0 != "." }) })
                let meant = Spelling.nearest(to: section, in: sections.sorted())
                    .map { "; did you mean [\($0)]?" }
                throw error("unknown section [\(section)]" + (meant ?? ""))
            }
            sectionLines[section] = self.line
            if GatewaySection.all.contains(where: { $0.name == section }) {
                // `reveille check` reports a section that is empty.
                configuration.sections[section] = configuration.sections[section] ?? [:]
            }
            return
        }
        guard let equals = text.firstIndex(of: "=") else { throw error("expected key = value") }
        let key = String(Self.trim(text[..<equals]))
        let value = String(Self.trim(text[text.index(after: equals)...]))
        let name = "\(section).\(key)"
        guard let known = Self.keys[name] else { throw unknown(key) }
        guard keyLines.updateValue(self.line, forKey: name) == nil else {
            throw error("\(key) is set twice")
        }
        guard !value.isEmpty, known.set(&configuration, value, directory) else {
            let remark = value.hasPrefix("\"") ? ", without quotes" : ""
            throw error("\(key) takes \(known.expected)\(remark)")
        }
    }

    private func unknown(_ key: String) -> ConfigurationError {
        guard !section.isEmpty else { return error("\(key) stands before the first [section]") }
        let prefix = section + "."
        let candidates = Self.keys.keys.filter { $0.hasPrefix(prefix) }
            .map { String($0.dropFirst(prefix.count)) }
        let meant = Spelling.nearest(to: key, in: candidates).map { "; did you mean \($0)?" }
        return error("unknown key \(key) in [\(section)]" + (meant ?? ""))
    }

    private func error(_ text: String) -> ConfigurationError {
        ConfigurationError(line: line, text: text)
    }

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

/// A mistake in the configuration file, with its line.
package struct ConfigurationError: Error, Equatable {
    /// 0: the mistake is not in one line.
    package let line: Int
    let text: String

    package var message: String { line > 0 ? "line \(line): \(text)" : text }
}
