package import WakeSystem

/// One command of a program. Their table drives dispatch, help, completions and the manual.
package struct Command: Sendable {
    /// The words that name it, e.g. `["feed", "publish"]`.
    let words: [String]
    /// One line, lower case, no full stop.
    let summary: String
    let operands: [Operand]
    let options: [Option]
    /// Whole command lines, shown at the end of the help.
    let examples: [String]
    /// Further text of the help, before the examples.
    let notes: String
    let run: @Sendable (Invocation) async throws(CommandFailure) -> ExitStatus

    package init(
        _ words: String, _ summary: String, operands: [Operand] = [], options: [Option] = [],
        examples: [String] = [], notes: String = "",
        run: @escaping @Sendable (Invocation) async throws(CommandFailure) -> ExitStatus
    ) {
        self.words = words.split(separator: " ").map(String.init)
        self.summary = summary
        self.operands = operands
        self.options = options
        self.examples = examples
        self.notes = notes
        self.run = run
    }

    var name: String { words.joined(separator: " ") }

    /// A word that is not an option.
    package struct Operand: Sendable {
        package enum Count: Sendable { case one, optional, many }

        let name: String
        let help: String
        let count: Count
        /// Whether a word that begins with a dash is this operand, as one in 64 of base64url does.
        let isDashed: @Sendable (String) -> Bool
        let completion: Completion

        /// - Parameter completion: what shells offer; by default what the name implies.
        package init(
            _ name: String, _ help: String, _ count: Count = .one, completion: Completion? = nil,
            isDashed: @escaping @Sendable (String) -> Bool = { _ in false }
        ) {
            self.name = name
            self.help = help
            self.count = count
            self.completion = completion ?? Completion(valueName: name)
            self.isDashed = isDashed
        }

        /// The operand in a synopsis: `NAME`, `[NAME]` or `NAME...`, with `name` as it is set.
        func usage(_ name: String) -> String {
            switch count {
            case .one: name
            case .optional: "[\(name)]"
            case .many: "\(name)..."
            }
        }
    }

    /// A long option, with a value or without.
    package struct Option: Sendable {
        /// With its dashes, e.g. `--width`.
        package let name: String
        /// The value's name in the help; nil for a flag.
        package let value: String?
        let help: String
        /// Whether it may be given several times.
        let repeats: Bool
        let completion: Completion

        /// - Parameter completion: by default what the name of the value implies.
        package init(
            _ name: String, value: String? = nil, _ help: String, repeats: Bool = false,
            completion: Completion? = nil
        ) {
            self.name = name
            self.repeats = repeats
            self.value = value
            self.help = help
            self.completion = completion ?? Completion(valueName: value ?? "")
        }

        /// The value in the help, behind the name.
        var argument: String {
            value.map { " \($0)" + (repeats ? "..." : "") } ?? ""
        }
    }
}

/// The failure of a command: a message without full stop, a hint what to do, the exit status.
package struct CommandFailure: Error, Equatable {
    package let message: String
    package let hint: String?
    package let status: ExitStatus

    package init(_ message: String, hint: String? = nil, status: ExitStatus = .failure) {
        self.message = message
        self.hint = hint
        self.status = status
    }

    /// A command line that was not understood.
    package static func usage(_ message: String, hint: String? = nil) -> CommandFailure {
        CommandFailure(message, hint: hint, status: .usage)
    }

    /// - Parameter text: the message, and a second line `hint: …` if there is a hint.
    package init(lines text: String, status: ExitStatus = .failure) {
        let lines = text.split(separator: "\n", maxSplits: 1)
        let hint = lines.dropFirst().first.map { String($0.trimmingPrefix("hint: ")) }
        self.init(String(lines.first ?? ""), hint: hint, status: status)
    }

    /// - Parameter subject: the file as the command line names it, or what cannot be done.
    package init(_ subject: String, _ error: FileError, _ status: ExitStatus = .failure) {
        self.init("\(subject): \(error.reason)", status: status)
    }
}

/// The exit statuses, the same for every command.
package enum ExitStatus: Int32, Sendable, CaseIterable {
    case success = 0
    case failure = 1
    case usage = 2
    /// `audit` found violations, or `feed monitor` something odd.
    case violations = 3
    /// `audit` could not examine the file.
    case notAudited = 4
    /// `sync` found a match.
    case match = 10
    // sysexits.h, for decisions of scripts and init systems.
    case badData = 65
    case ioError = 74
    case transient = 75
    case configuration = 78

    /// Its description in manuals.
    package var meaning: String {
        switch self {
        case .success: "Success; there was nothing to report."
        case .failure: "The command failed; the message gives the reason."
        case .usage: "The command line was not understood."
        case .violations: "`audit` found violations, or `feed monitor` something odd."
        case .notAudited: "`audit` could not examine the file."
        case .match: "`sync` found a match."
        case .badData: "The data is invalid; trying again does not help."
        case .ioError: "A file could not be read or written, or there is no room."
        case .transient: "A temporary failure; trying again later may help."
        case .configuration: "The configuration or the installation must be corrected first."
        }
    }
}
