/// What completion scripts are made of, the same for every shell: which words lead to which
/// command, which options take values, and what is offered where.
struct CompletionPlan {
    /// The word at this position leads from one command, or part of one, to the next.
    struct Step: Equatable {
        /// The first word after the program's name is at 1.
        let position: Int
        let from: String
        let word: String
        let to: String
    }

    /// A word to offer, and what it is for.
    struct Offer: Equatable {
        let word: String
        let help: String
    }

    let program: String
    let commands: [Command]

    init(program: String, commands: [Command]) {
        precondition(Completion.isPlain(program), "the program's name is part of shell code")
        for command in commands {
            precondition(command.words.allSatisfy(Completion.isPlain))
            for option in command.options { precondition(Completion.isPlain(option.name)) }
        }
        self.program = program
        self.commands = commands
    }

    /// A name for functions of shells.
    var function: String { program.replacing("-", with: "_") }

    var steps: [Step] {
        var steps: [Step] = []
        for command in commands {
            for count in command.words.indices {
                let step = Step(
                    position: count + 1, from: command.words[..<count].joined(separator: " "),
                    word: command.words[count],
                    to: command.words[...count].joined(separator: " "))
                if !steps.contains(step) { steps.append(step) }
            }
        }
        return steps
    }

    /// Where only a part of a command stands: nothing, or the first words of several.
    var parts: [String] {
        var parts: [String] = []
        for step in steps where !parts.contains(step.from) { parts.append(step.from) }
        return parts
    }

    /// The words that go on from a part of a command.
    func words(from part: String) -> [Offer] {
        steps.filter { $0.from == part }.map { step in
            let command = commands.first { $0.name == step.to }
            let group = commands.filter { $0.name.hasPrefix(step.to + " ") }.map {
                $0.words[$0.words.count - 1]
            }
            return Offer(
                word: step.word,
                help: command?.summary ?? group.joined(separator: ", "))
        }
    }

    func options(of command: Command) -> [Offer] {
        command.options.map { Offer(word: $0.name, help: $0.help) }
            + [Offer(word: "--help", help: Self.help)]
    }

    /// Options that stand where commands stand.
    var programOptions: [Offer] {
        [
            Offer(word: "--help", help: "list the commands"),
            Offer(word: "--version", help: "show the version"),
        ]
    }

    static let help = "say more about this command"

    /// Every option that takes a value, by command.
    var valued: [(command: String, option: Command.Option)] {
        commands.flatMap { command in
            command.options.filter { $0.value != nil }.map { (command.name, $0) }
        }
    }
}
