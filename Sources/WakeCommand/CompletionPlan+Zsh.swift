extension CompletionPlan {
    /// A script for zsh, see zshcompsys(1): the file `_PROGRAM` in a directory of `fpath`, or
    /// sourced after `compinit`.
    func zsh() -> String {
        """
        #compdef \(program)
        # Completions of \(program) for zsh, made by `\(program) completions zsh`.

        _\(program)() {
            local command='' expects='' plain='' word
            local -i operands=0 i
            local -a offers
            for ((i = 2; i < CURRENT; i++)); do
                word=$words[i]
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
                case "$((i - 1))|$command|$word" in
        \(zshSteps)
                *) operands=$((operands + 1)) ;;
                esac
            done
            if [[ -z $expects && -z $plain && $PREFIX == --*=* ]]; then
                expects="$command ${PREFIX%%=*}"
                compset -P 1 '*='
            fi
            case $expects in
            '') ;;
        \(zshValues)
            *) return 1 ;;
            esac
            if [[ -z $plain && $PREFIX == -* ]]; then
                case "$command|$operands" in
        \(zshOptions)
                *) return 1 ;;
                esac
                _describe -o option offers
                return
            fi
            case "$command|$operands" in
        \(zshOperands)
            *) return 1 ;;
            esac
        }

        if [[ $funcstack[1] == _\(program) ]]; then
            _\(program) "$@"
        else
            compdef _\(program) \(program)
        fi

        """
    }

    private var valuedPattern: String {
        valued.map { "'\($0.command) \($0.option.name)'" }.joined(separator: " | ")
    }

    private var zshSteps: String {
        steps.map {
            "        '\($0.position)|\($0.from)|\($0.word)') command='\($0.to)' ;;"
        }.joined(separator: "\n")
    }

    private var zshValues: String {
        valued.compactMap { name, option in
            zsh(option.completion).map { "    '\(name) \(option.name)') \($0); return ;;" }
        }.joined(separator: "\n")
    }

    private var zshOptions: String {
        let top = "        '|0') ((CURRENT == 2)) || return 1; \(zshOffers(programOptions)) ;;"
        let others = commands.map { command in
            "        '\(command.name)|'*) \(zshOffers(options(of: command))) ;;"
        }
        return ([top] + others).joined(separator: "\n")
    }

    private var zshOperands: String {
        var lines = parts.map { part in
            let position = part.split(separator: " ").count + 2
            return """
                    '\(part)|0')
                        ((CURRENT == \(position))) || return 1
                        \(zshOffers(words(from: part)))
                        _describe command offers
                        ;;
                """
        }
        for command in commands {
            for (index, operand) in command.operands.enumerated() {
                guard let action = zsh(operand.completion) else { continue }
                let pattern =
                    operand.count == .many ? "'\(command.name)|'*" : "'\(command.name)|\(index)'"
                lines.append("    \(pattern)) \(action) ;;")
            }
        }
        return lines.joined(separator: "\n")
    }

    /// `word:help`, as `_describe` reads it.
    private func zshOffers(_ offers: [Offer]) -> String {
        let words = offers.map { offer in
            "'\(offer.word):" + offer.help.replacing("'", with: "'\\''") + "'"
        }
        return "offers=(\(words.joined(separator: " ")))"
    }

    private func zsh(_ completion: Completion) -> String? {
        switch completion {
        case .nothing: nil
        case .file: "_files"
        case .directory: "_files -/"
        case .choice(let words): "compadd -- " + words.joined(separator: " ")
        case .listed(let command):
            "compadd -- ${(f)\"$(_call_program names \(program) \(command) 2>/dev/null)\"}"
        }
    }
}
