/// One verb of a program: what it is called, what it takes, what it does. The table of commands
/// drives dispatch and help, so that neither can forget one.
package struct Command: Sendable {
    /// The words that name it, e.g. `["feed", "publish"]`.
    package let words: [String]
    /// One line, lower case, no full stop.
    package let summary: String
    package let operands: [Operand]
    package let options: [Option]
    /// Whole command lines, shown at the end of the help.
    package let examples: [String]
    /// What else there is to know, in lines of their own before the examples.
    package let notes: String
    package let run: @Sendable (Invocation) async throws(CommandFailure) -> ExitStatus

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
        package enum Count: Sendable {
            case one
            case optional
            case many
        }

        package let name: String
        package let help: String
        package let count: Count
        /// Which words with a dash in front are this operand and no mistyped option; of base64url,
        /// one word in 64 begins so.
        let isDashed: @Sendable (String) -> Bool
        let completion: Completion

        /// - Parameter completion: what shells offer; by default what the name tells.
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
    }

    /// A long option, with a value or without.
    package struct Option: Sendable {
        /// With its dashes, e.g. `--width`.
        package let name: String
        /// The value's name in the help; nil for a flag.
        package let value: String?
        package let help: String
        let completion: Completion

        /// - Parameter completion: what shells offer for the value; by default what its name tells.
        package init(
            _ name: String, value: String? = nil, _ help: String, completion: Completion? = nil
        ) {
            self.name = name
            self.value = value
            self.help = help
            self.completion = completion ?? Completion(valueName: value ?? "")
        }
    }
}

/// Why a command ends: a message without full stop, what to do about it, and the exit status.
package struct CommandFailure: Error, Equatable {
    package let message: String
    package let hint: String?
    package let status: ExitStatus

    package init(_ message: String, hint: String? = nil, status: ExitStatus = .failure) {
        self.message = message
        self.hint = hint
        self.status = status
    }
}
