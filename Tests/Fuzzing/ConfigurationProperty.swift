import WakeModel
import WakeSystem

@testable import WakeServer

/// The configuration file: the same whatever its line ends and comments, no key twice, and every
/// mistake on a line of it.
enum ConfigurationProperty {
    /// - Parameter input: a file.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        guard let text = String(validating: input, as: UTF8.self) else { return false }
        let read = parse(text)
        try checkLayout(text, read)
        switch read {
        case .failure(let error):
            let lines = input.count { $0 == 0x0A } + 1
            try require((0...lines).contains(error.line), "a mistake on no line")
            let lineEnds = error.text.utf8.count { $0 == 0x0A }
            // One before the hint.
            try require(lineEnds <= 1 && !error.message.isEmpty, "a message of more lines")
            return false
        case .success(let configuration):
            try checkTwice(text)
            try checkValues(configuration)
            return true
        }
    }

    private static func parse(
        _ text: String, directory: String = "/d"
    ) -> Result<Configuration, SettingsFault> {
        do throws(SettingsFault) {
            return .success(try ConfigurationParser.parse(text, directory: directory))
        } catch { return .failure(error) }
    }

    private static func checkLayout(
        _ text: String, _ read: Result<Configuration, SettingsFault>
    ) throws(Violation) {
        let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        if !text.utf8.contains(0x0D) {
            let windows = parse(lines.joined(separator: "\r\n"))
            try require(windows == read, "line ends have a meaning")
        }
        guard case .success(let configuration) = read else { return }
        let wide = parse("# \n" + lines.joined(separator: " \t\n\n \t") + "\n# end")
        try require(wide == .success(configuration), "space or comments have a meaning")
        guard case .success = parse(text, directory: "/other") else {
            throw Violation("its directory has a meaning")
        }
    }

    /// What has a key cannot stand there twice.
    private static func checkTwice(_ text: String) throws(Violation) {
        let hasKey = text.utf8.split(separator: 0x0A).contains { line in
            let line = line.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            return line.contains(0x3D) && line.first != 0x23 && line.first != 0x5B
        }
        guard hasKey, case .success = parse(text + "\n" + text) else { return }
        throw Violation("a key is set twice")
    }

    private static func checkValues(_ configuration: Configuration) throws(Violation) {
        try require(
            configuration.admin.isLocal
                && RotationSchedule.days.contains(configuration.rotationDays)
                && (1...1_048_576).contains(configuration.storeMegabytes)
                && (0...1000).contains(configuration.gonePerMille), "a value outside its range")
        if case .tcp = configuration.admin {
            try require(configuration.adminToken != nil, "an admin on TCP without a token")
        }
        var paths = [configuration.data, configuration.keys, configuration.feed]
        paths += [configuration.feedKey]
        try require(
            paths.allSatisfy { $0.hasPrefix("/") && !$0.utf8.contains(0) }, "a path not absolute")
    }
}
