private import WakeModel
private import WakeSystem

/// The words of one command line, sorted into what the command declared.
package struct Invocation: Sendable {
    package let operands: [String]
    private let values: [String: [String]]
    /// Where the command is explained, for messages.
    private let help: String

    /// - Parameter words: the words after the command's name.
    init(
        _ words: ArraySlice<String>, for command: Command, of program: String
    ) throws(CommandFailure) {
        let help = "see \(program) \(command.name) --help"
        self = try mapError({
            CommandFailure($0.message, hint: $0.hint ?? help, status: $0.status)
        }) { () throws(CommandFailure) in try Invocation(words, for: command, help: help) }
    }

    private init(
        _ words: ArraySlice<String>, for command: Command, help: String
    ) throws(CommandFailure) {
        var operands: [String] = []
        var values: [String: [String]] = [:]
        var rest = words
        var optionsEnded = false
        while let word = rest.popFirst() {
            let isOperand =
                optionsEnded || word == "-" || !word.hasPrefix("-")
                || command.operands.dropFirst(operands.count).first?.isDashed(word) == true
            if isOperand {
                operands.append(word)
            } else if word == "--" {
                optionsEnded = true
            } else {
                let (option, value) = try Self.option(word, rest: &rest, command)
                guard values[option.name] == nil || option.repeats else {
                    throw .usage("\(option.name) is given twice")
                }
                values[option.name, default: []].append(value)
            }
        }
        try Self.check(operands, command)
        self.operands = operands
        self.values = values
        self.help = help
    }

    package func flag(_ name: String) -> Bool { values[name] != nil }

    package func value(_ name: String) -> String? { values[name]?.first }

    /// The values of an option that may be given several times, in their order.
    package func all(_ name: String) -> [String] { values[name] ?? [] }

    /// The value as a path, independent of the working directory.
    package func path(_ name: String) throws(CommandFailure) -> String? {
        guard let path = value(name) else { return nil }
        return try Environment.absolute(path)
    }

    /// The value as a whole number within bounds.
    package func integer(
        _ name: String, in bounds: ClosedRange<Int>
    ) throws(CommandFailure) -> Int? {
        guard let text = value(name) else { return nil }
        guard let number = Int(text), bounds.contains(number) else {
            throw .usage(
                "\(name) takes a whole number from \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return number
    }

    /// The value of an option that the command cannot do without.
    package func required(_ name: String) throws(CommandFailure) -> String {
        guard let value = value(name) else {
            throw .usage("\(name) is missing", hint: help)
        }
        return value
    }

    private static func option(
        _ word: String, rest: inout ArraySlice<String>, _ command: Command
    ) throws(CommandFailure) -> (Command.Option, String) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard let option = command.options.first(where: { $0.name == name }) else {
            let near = Spelling.nearest(to: name, in: command.options.map(\.name))
            throw .usage("unknown option \(name)", hint: near.map { "did you mean \($0)?" })
        }
        guard option.value != nil else {
            guard parts.count == 1 else { throw .usage("\(name) takes no value") }
            return (option, "")
        }
        if parts.count == 2 { return (option, String(parts[1])) }
        guard let value = rest.popFirst() else { throw .usage("\(name) needs a value") }
        return (option, value)
    }

    private static func check(_ given: [String], _ command: Command) throws(CommandFailure) {
        let least = command.operands.count { $0.count == .one }
        if given.count < least {
            throw .usage("\(command.operands[given.count].name) is missing")
        }
        // An empty word is a shell variable that was not set.
        guard !given.contains("") else { throw .usage("a word is empty") }
        let isOpen = command.operands.contains { $0.count == .many }
        if !isOpen, given.count > command.operands.count { throw .usage("too many words") }
    }
}
