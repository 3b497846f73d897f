import WakeSystem

/// The values that a shell offers for an operand or an option.
package enum Completion: Sendable {
    /// Nothing can be offered.
    case nothing
    case file
    case directory
    /// One of these words.
    case choice([String])
    /// One of the names that exist at this moment.
    case names(@Sendable () async -> [String])

    /// The completion that a value's name in the help implies: `FILE`, `DIR`, or `stream|poll`.
    init(valueName: String) {
        let names = valueName.split(separator: "|").map(String.init)
        if names.contains(where: { ["FILE", "PATH", "CMD"].contains($0) }) {
            self = .file
        } else if names.contains("DIR") {
            self = .directory
        } else if names.count > 1, names.allSatisfy({ $0 == $0.lowercased() }) {
            self = .choice(names)
        } else {
            self = .nothing
        }
    }
}

/// The hidden verb of completion scripts: offers words for the end of an unfinished command line.
///
/// The answer is lines: the kind (`nothing`, `files`, `directories`, `commands`, `options`,
/// `values`), the part of the last word that stays (`--name=`, often empty), then the offers, each
/// with a tab before its help if it has one. Shells filter them themselves.
struct CompletionQuery {
    /// The first word of the command line of a query.
    static let verb = "__complete"

    /// A word to offer and its help.
    struct Offer: Equatable {
        let word: String
        var help = ""
    }

    private let commands: [Command]
    /// Words of the command so far.
    private var command: [String] = []
    /// The option whose value comes next.
    private var option: String?
    /// After `--` nothing is an option.
    private var optionsEnded = false
    /// Words that are no part of the command's name and no options.
    private var operands = 0
    private var wordCount = 0

    /// - Parameter words: without the program's name; the last one is unfinished.
    static func answer(_ words: [String], _ commands: [Command]) async -> String {
        var query = CompletionQuery(commands: commands)
        for word in words.dropLast() { query.read(word) }
        return await query.answer(unfinished: words.last ?? "")
    }

    private init(commands: [Command]) { self.commands = commands }

    private mutating func read(_ word: String) {
        wordCount += 1
        if option != nil {
            option = nil
        } else if !optionsEnded, word == "--" {
            optionsEnded = true
        } else if !optionsEnded, word.hasPrefix("-"), word != "-" {
            if found(word)?.value != nil { option = word }
        } else if command.count == wordCount - 1, hasCommands(after: command + [word]) {
            command.append(word)
        } else {
            operands += 1
        }
    }

    private func hasCommands(after words: [String]) -> Bool {
        commands.contains { $0.words.starts(with: words) }
    }

    /// The command that the words name as a whole.
    private var exact: Command? { commands.first { $0.words == command } }

    private func found(_ option: String) -> Command.Option? {
        exact?.options.first { $0.name == option }
    }

    private func answer(unfinished word: String) async -> String {
        if let option { return await answer(found(option)?.completion ?? .nothing) }
        if !optionsEnded, word.hasPrefix("--"), let end = word.firstIndex(of: "=") {
            let option = found(String(word[..<end]))
            guard let option, option.value != nil else { return answer("nothing") }
            return await answer(option.completion, prefix: String(word[...end]))
        }
        if !optionsEnded, word.hasPrefix("-") { return answerOptions() }
        let next = nextWords()
        if operands == 0, !next.isEmpty {
            return command.count == wordCount ? answer("commands", next) : answer("nothing")
        }
        guard let declared = exact?.operands else { return answer("nothing") }
        let operand =
            operands < declared.count ? declared[operands] : declared.last { $0.count == .many }
        return await answer(operand?.completion ?? .nothing)
    }

    private func answerOptions() -> String {
        if wordCount == 0 {
            let help = Offer(word: "--help", help: "list the commands")
            return answer("options", [help, Offer(word: "--version", help: "show the version")])
        }
        guard let exact else { return answer("nothing") }
        let help = Offer(word: "--help", help: "show the help of this command")
        let options = exact.options.map { Offer(word: $0.name, help: $0.help) }
        return answer("options", options + [help])
    }

    /// The words that continue the command, each once; one that begins several commands lists them.
    private func nextWords() -> [Offer] {
        var offers: [Offer] = []
        for next in commands where next.words.count > command.count {
            guard next.words.starts(with: command) else { continue }
            let word = next.words[command.count]
            guard !offers.contains(where: { $0.word == word }) else { continue }
            let same = commands.filter { $0.words.starts(with: command + [word]) }
            let isGroup = same.contains { $0.words.count > command.count + 1 }
            let help =
                isGroup
                ? same.map { $0.words[(command.count + 1)...].joined(separator: " ") }
                    .filter { !$0.isEmpty }.joined(separator: ", ") : next.summary
            offers.append(Offer(word: word, help: help))
        }
        return offers
    }

    private func answer(_ completion: Completion, prefix: String = "") async -> String {
        switch completion {
        case .nothing: answer("nothing")
        case .file: answer("files", prefix: prefix)
        case .directory: answer("directories", prefix: prefix)
        case .choice(let words): answer("values", words.map { Offer(word: $0) }, prefix: prefix)
        case .names(let names):
            answer("values", await names().map { Offer(word: $0) }, prefix: prefix)
        }
    }

    private func answer(_ kind: String, _ offers: [Offer] = [], prefix: String = "") -> String {
        let lines = offers.map { $0.help.isEmpty ? $0.word : "\($0.word)\t\($0.help)" }
        return ([kind, prefix] + lines).joined(separator: "\n") + "\n"
    }
}
