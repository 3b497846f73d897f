extension CompletionPlan {
    /// A script for fish: the file `PROGRAM.fish` in a directory of `$fish_complete_path`.
    func fish() -> String {
        """
        # Completions of \(program) for fish, made by `\(program) completions fish`.

        # Whether the words before the cursor name this command, with so many operands if given.
        function __\(function)_at -a wanted count
            set -l words (commandline -opc)
            set -e words[1]
            set -l command ''
            set -l expects ''
            set -l plain ''
            set -l operands 0
            set -l position 0
            for word in $words
                set position (math $position + 1)
                if test -n "$expects"
                    set expects ''
                    continue
                end
                if test -z "$plain"
                    switch "$word"
                        case --
                            set plain yes
                            continue
                        case -
                        case '-*'
                            switch "$command $word"
                                case \(fishValued)
                                    set expects yes
                            end
                            continue
                    end
                end
                switch "$position|$command|$word"
        \(fishSteps)
                    case '*'
                        set operands (math $operands + 1)
                end
            end
            test "$command" = "$wanted"
            and begin
                test -z "$count"
                or test "$operands" = "$count"
            end
        end

        complete -c \(program) -f
        \(lines.joined(separator: "\n"))

        """
    }

    private var fishValued: String {
        valued.map { "'\($0.command) \($0.option.name)'" }.joined(separator: " ")
    }

    private var fishSteps: String {
        steps.map { step in
            """
                        case '\(step.position)|\(step.from)|\(step.word)'
                            set command '\(step.to)'
            """
        }.joined(separator: "\n")
    }

    private var lines: [String] {
        var lines: [String] = []
        for part in parts {
            let position = part.split(separator: " ").count + 1
            let here =
                "__\(function)_at '\(part)' 0; and test (count (commandline -opc)) = \(position)"
            for offer in words(from: part) {
                lines.append(line(here, "-a \(offer.word) -d \(quoted(offer.help))"))
            }
            guard part.isEmpty else { continue }
            for offer in programOptions {
                lines.append(line(here, "-l \(offer.word.dropFirst(2)) -d \(quoted(offer.help))"))
            }
        }
        for command in commands {
            let here = "__\(function)_at '\(command.name)'"
            for option in command.options {
                let value = option.value == nil ? "" : fish(valueOf: option.completion)
                lines.append(
                    line(here, "-l \(option.name.dropFirst(2))\(value) -d \(quoted(option.help))"))
            }
            lines.append(line(here, "-l help -d \(quoted(Self.help))"))
            for (index, operand) in command.operands.enumerated() {
                guard let offer = fish(operand.completion) else { continue }
                let place = operand.count == .many ? here : "\(here) \(index)"
                lines.append(line(place, "\(offer) -d \(quoted(operand.name))"))
            }
        }
        return lines
    }

    private func line(_ condition: String, _ rest: String) -> String {
        "complete -c \(program) -n \"\(condition)\" \(rest)"
    }

    private func fish(valueOf completion: Completion) -> String {
        switch completion {
        case .nothing: " -x"
        case .file: " -r -F"
        case .directory, .choice, .listed: fish(completion).map { " -x \($0)" } ?? " -x"
        }
    }

    private func fish(_ completion: Completion) -> String? {
        switch completion {
        case .nothing: nil
        case .file: "-F"
        case .directory: "-a '(__fish_complete_directories (commandline -ct))'"
        case .choice(let words): "-a '\(words.joined(separator: " "))'"
        case .listed(let command): "-a '(\(program) \(command) 2>/dev/null)'"
        }
    }

    /// fish, "Quotes": in single quotes only these two are special.
    private func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
