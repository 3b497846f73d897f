private import WakeModel
package import WakePush
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
        // A carriage return with its line feed is one `Character`.
        let isEnd = { (character: Character) in character == "\n" || character == "\r\n" }
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: isEnd) {
            parser.line += 1
            try parser.read(line)
        }
        try parser.finish()
        return parser.configuration
    }

    private mutating func finish() throws(ConfigurationError) {
        for section in GatewaySection.all {
            do throws(GatewaySectionFault) {
                try section.read(configuration.sections[section.name] ?? [:], &configuration)
            } catch {
                throw ConfigurationError(
                    line: line(of: error, section: section.name),
                    reason: .gateway(section: section.name, error))
            }
        }
        do throws(GatewaySectionFault) {
            configuration.relay = try RelaySettings(
                section: configuration.sections["relay"] ?? [:], directory: directory)
        } catch {
            throw ConfigurationError(line: line(of: error, section: "relay"), reason: .relay(error))
        }
    }

    /// The line of the wrong key; for a missing one, the line that opens the section.
    private func line(of fault: GatewaySectionFault, section: String) -> Int {
        fault.key.flatMap { keyLines["\(section).\($0)"] } ?? sectionLines[section] ?? 0
    }

    private init(directory: String) {
        self.directory = directory
        configuration = Configuration(directory: directory)
    }

    private mutating func read(_ line: Substring) throws(ConfigurationError) {
        let text = Self.trim(Self.withoutComment(line))
        if text.isEmpty { return }
        if text.hasPrefix("[") {
            guard text.hasSuffix("]") else { throw error(.sectionNotClosed) }
            section = String(text.dropFirst().dropLast())
            guard Self.keys.keys.contains(where: { $0.hasPrefix(section + ".") }) else {
                throw error(.unknownSection(section))
            }
            sectionLines[section] = self.line
            if GatewaySection.named(section) != nil {
                // `reveille check` reports a section that is empty.
                configuration.sections[section] = configuration.sections[section] ?? [:]
            }
            return
        }
        guard let equals = text.firstIndex(of: "=") else { throw error(.noEqualsSign) }
        let key = String(Self.trim(text[..<equals]))
        let value = String(Self.trim(text[text.index(after: equals)...]))
        let name = "\(section).\(key)"
        guard let known = Self.keys[name] else {
            let prefix = section + "."
            let candidates = Self.keys.keys.filter { $0.hasPrefix(prefix) }
                .map { String($0.dropFirst(prefix.count)) }
            let meant = Spelling.nearest(to: key, in: candidates)
            throw error(.unknownKey(key, section: section, meant: meant))
        }
        guard keyLines.updateValue(self.line, forKey: name) == nil else {
            throw error(.keyTwice(key))
        }
        guard !value.isEmpty, known.set(&configuration, value, directory) else {
            throw error(.badValue(key, expected: known.expected))
        }
    }

    private func error(_ reason: ConfigurationError.Reason) -> ConfigurationError {
        ConfigurationError(line: line, reason: reason)
    }

    private static func withoutComment(_ line: Substring) -> Substring { line.prefix { $0 != "#" } }

    private static func trim(_ text: Substring) -> Substring {
        let blanks: Set<Character> = [" ", "\t", "\r"]
        var text = text.drop(while: blanks.contains)
        while let last = text.last, blanks.contains(last) { text = text.dropLast() }
        return text
    }
}

package struct ConfigurationError: Error, Equatable {
    package enum Reason: Equatable, Sendable {
        case sectionNotClosed
        case unknownSection(String)
        case noEqualsSign
        case unknownKey(String, section: String, meant: String?)
        case keyTwice(String)
        case badValue(String, expected: String)
        case gateway(section: String, GatewaySectionFault)
        case relay(GatewaySectionFault)
    }

    package let line: Int
    package let reason: Reason

    package var message: String { "line \(line): \(text)" }

    private var text: String {
        switch reason {
        case .sectionNotClosed: "a section must end with ]"
        case .unknownSection(let name): "unknown section [\(name)]"
        case .noEqualsSign: "expected key = value"
        case .unknownKey(let key, let section, _) where section.isEmpty:
            "\(key) stands before the first [section]"
        case .unknownKey(let key, let section, let meant):
            "unknown key \(key) in [\(section)]"
                + (meant.map { "; did you mean \($0)?" } ?? "")
        case .keyTwice(let key): "\(key) is set twice"
        case .badValue(let key, let expected): "\(key) takes \(expected)"
        case .gateway(let name, let fault):
            GatewaySection.named(name)?.message(fault) ?? "[\(name)]"
        case .relay(let fault): fault.message(section: "relay", words: RelaySettings.words)
        }
    }
}
