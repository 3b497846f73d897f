private import WakeModel
package import WakePush

/// Reads `key = value` lines in `[sections]`. Every mistake is an error with its line number;
/// unknown keys are mistakes.
package struct ConfigurationParser {
    private var configuration: Configuration
    private let directory: String
    private var section = ""
    private var line = 0
    /// Where each section begins; when it begins again, there.
    private var sectionLines: [String: Int] = [:]
    /// Where each key stands, by section and key.
    private var keyLines: [String: Int] = [:]

    /// - Parameter directory: where relative paths start: the directory of the file.
    package static func parse(
        _ text: String, directory: String
    ) throws(ConfigurationError) -> Configuration {
        var parser = ConfigurationParser(directory: directory)
        // Swift takes a carriage return with its line feed for one character.
        let isEnd = { (character: Character) in character == "\n" || character == "\r\n" }
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: isEnd) {
            parser.line += 1
            try parser.read(line)
        }
        try parser.finish()
        return parser.configuration
    }

    /// What only the whole file can tell.
    private mutating func finish() throws(ConfigurationError) {
        for section in GatewaySection.all {
            do throws(GatewaySectionFault) {
                let written = configuration.gatewaySections[section.name] ?? [:]
                try section.read(written, &configuration)
            } catch {
                throw ConfigurationError(
                    line: line(of: error, section: section.name),
                    reason: .gateway(section: section.name, error))
            }
        }
        do throws(GatewaySectionFault) {
            configuration.relay = try RelaySettings(
                section: configuration.relaySection, directory: directory)
        } catch {
            throw ConfigurationError(
                line: line(of: error, section: "relay"), reason: .relay(error))
        }
    }

    /// Where the key stands that is wrong; for one that is missing, where the section begins.
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
                // There, even when nothing stands in it: check says so.
                configuration.gatewaySections[section] =
                    configuration.gatewaySections[section] ?? [:]
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

    private static func withoutComment(_ line: Substring) -> Substring {
        line.prefix { $0 != "#" }
    }

    private static func trim(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" || $0 == "\r" }
        while let last = text.last, last == " " || last == "\t" || last == "\r" {
            text = text.dropLast()
        }
        return text
    }
}

/// A mistake in the configuration file.
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

    package var message: String {
        switch reason {
        case .sectionNotClosed: "line \(line): a section must end with ]"
        case .unknownSection(let name): "line \(line): unknown section [\(name)]"
        case .noEqualsSign: "line \(line): expected key = value"
        case .unknownKey(let key, let section, _) where section.isEmpty:
            "line \(line): \(key) stands before the first [section]"
        case .unknownKey(let key, let section, let meant):
            "line \(line): unknown key \(key) in [\(section)]"
                + (meant.map { "; did you mean \($0)?" } ?? "")
        case .keyTwice(let key): "line \(line): \(key) is set twice"
        case .badValue(let key, let expected): "line \(line): \(key) takes \(expected)"
        case .gateway(let name, let fault):
            "line \(line): \(GatewaySection.named(name)?.message(fault) ?? "[\(name)]")"
        case .relay(let fault):
            "line \(line): \(fault.message(section: "relay", words: RelaySettings.words))"
        }
    }
}
