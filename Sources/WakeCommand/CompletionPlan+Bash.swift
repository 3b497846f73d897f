extension CompletionPlan {
    /// A script for bash(1), "Programmable Completion".
    func bash() -> String {
        """
        # Completions of \(program) for bash, made by `\(program) completions bash`.

        _\(function)_offer() {
            local word
            for word in "${@:2}"; do
                if [[ $word == "$1"* ]]; then COMPREPLY+=("$prefix$word"); fi
            done
        }

        _\(function)() {
            local command='' expects='' plain='' prefix='' operands=0 line=$COMP_LINE
            local words=() last word i current
            COMPREPLY=()
            # Bash cuts words at COMP_WORDBREAKS: what no space divides is one word.
            for ((i = 0; i <= COMP_CWORD; i++)); do
                word=${COMP_WORDS[i]-}
                if ((i > 0)) && [[ $line != [[:space:]]* ]]; then
                    words[-1]+=$word
                else
                    line=${line#"${line%%[![:space:]]*}"}
                    words+=("$word")
                fi
                line=${line:${#word}}
            done
            last=$((${#words[@]} - 1))
            current=${words[last]}
            for ((i = 1; i < last; i++)); do
                word=${words[i]}
                if [[ -n $expects ]]; then
                    expects=''
                    continue
                fi
                if [[ -z $plain && $word == -- ]]; then
                    plain=yes
                    continue
                fi
                if [[ -z $plain && $word == -?* ]]; then
                    case "$command $word" in
                    \(valuedPattern)) expects="$command $word" ;;
                    esac
                    continue
                fi
                case "$i|$command|$word" in
        \(bashSteps)
                *) operands=$((operands + 1)) ;;
                esac
            done
            if [[ -z $expects && -z $plain && $current == --*=* ]]; then
                expects="$command ${current%%=*}"
                # Readline replaces what comes after a break, or the whole word.
                if [[ $COMP_WORDBREAKS != *=* ]]; then prefix=${current%%=*}=; fi
                current=${current#*=}
            fi
            case $expects in
            '') ;;
        \(bashValues)
            *) return 0 ;;
            esac
            if [[ -z $plain && $current == -* ]]; then
                case "$command|$operands" in
        \(bashOptions)
                esac
                return 0
            fi
            case "$command|$operands" in
        \(bashOperands)
            esac
            return 0
        }

        complete -F _\(function) \(program)

        """
    }

    /// Alternatives of a `case` that match every option with a value after its command.
    private var valuedPattern: String {
        valued.map { "'\($0.command) \($0.option.name)'" }.joined(separator: " | ")
    }

    private var bashSteps: String {
        steps.map {
            "        '\($0.position)|\($0.from)|\($0.word)') command='\($0.to)' ;;"
        }.joined(separator: "\n")
    }

    private var bashValues: String {
        valued.compactMap { name, option in
            bash(option.completion).map {
                "    '\(name) \(option.name)')\n        \($0)\n        return 0\n        ;;"
            }
        }.joined(separator: "\n")
    }

    private var bashOptions: String {
        let top =
            "        '|0') if ((last == 1)); then "
            + "\(bashOffer(programOptions.map(\.word))); fi ;;"
        let others = commands.map { command in
            "        '\(command.name)|'*) \(bashOffer(options(of: command).map(\.word))) ;;"
        }
        return ([top] + others).joined(separator: "\n")
    }

    private var bashOperands: String {
        var lines = parts.map { part in
            let offer = bashOffer(words(from: part).map(\.word))
            let position = part.split(separator: " ").count + 1
            return "    '\(part)|0') if ((last == \(position))); then \(offer); fi ;;"
        }
        for command in commands {
            for (index, operand) in command.operands.enumerated() {
                guard let action = bash(operand.completion) else { continue }
                let pattern =
                    operand.count == .many ? "'\(command.name)|'*" : "'\(command.name)|\(index)'"
                lines.append("    \(pattern)) \(action) ;;")
            }
        }
        return lines.joined(separator: "\n")
    }

    private func bashOffer(_ words: [String]) -> String {
        "_\(function)_offer \"$current\" " + words.joined(separator: " ")
    }

    private func bash(_ completion: Completion) -> String? {
        switch completion {
        case .nothing: nil
        // Readline's own: it quotes what must be quoted.
        case .file: "compopt -o default"
        case .directory: "compopt -o dirnames"
        case .choice(let words): bashOffer(words)
        case .listed(let command):
            "mapfile -t words < <(\(program) \(command) 2>/dev/null)\n"
                + "        _\(function)_offer \"$current\" \"${words[@]}\""
        }
    }
}
