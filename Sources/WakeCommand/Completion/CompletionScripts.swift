import WakeSystem

/// The completion scripts: each offers what the program's hidden verb answers (`CompletionQuery`).
package enum Shell: String, Sendable, CaseIterable {
    case bash, zsh, fish

    /// - Parameter program: letters, digits, hyphens: it is part of shell code.
    package func completions(of program: String) -> String {
        precondition(program.utf8.allSatisfy { $0 == 0x2D || $0.isAlphanumeric })
        let function = "_" + program.replacing("-", with: "_")
        let query = "\(program) \(CompletionQuery.verb)"
        return switch self {
        case .bash: Self.bash(program, function, query)
        case .zsh: Self.zsh(program, query)
        case .fish: Self.fish(program, "_" + function, query)
        }
    }

    /// bash(1), "Programmable Completion".
    private static func bash(_ program: String, _ function: String, _ query: String) -> String {
        """
        # Completions of \(program) for bash, made by `\(program) completions bash`.

        \(function)() {
            local line=$COMP_LINE words=() answer=() prefix word i
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
            mapfile -t answer < <(\(query) "${words[@]:1}" 2>/dev/null)
            prefix=${answer[1]-}
            line=${words[-1]#"$prefix"}
            # Readline replaces what comes after a break, or the whole word.
            if [[ $COMP_WORDBREAKS == *=* ]]; then prefix=''; fi
            # Readline names files itself: it quotes what must be quoted.
            case ${answer[0]-} in
            files) compopt -o default ;;
            directories) compopt -o dirnames ;;
            esac
            for word in "${answer[@]:2}"; do
                word=${word%%$'\\t'*}
                if [[ $word == "$line"* ]]; then COMPREPLY+=("$prefix$word"); fi
            done
            return 0
        }

        complete -F \(function) \(program)

        """
    }

    /// zshcompsys(1): the file `_PROGRAM` in a directory of `fpath`, or sourced after `compinit`.
    private static func zsh(_ program: String, _ query: String) -> String {
        """
        #compdef \(program)
        # Completions of \(program) for zsh, made by `\(program) completions zsh`.

        _\(program)() {
            local -a answer offers
            local kind tab=$'\\t'
            answer=("${(@f)$(\(query) "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
            kind=$answer[1]
            if [[ -n ${answer[2]-} ]]; then compset -P 1 '*='; fi
            offers=(${answer[3,-1]})
            case $kind in
            files) _files ;;
            directories) _files -/ ;;
            # `word:help`, as _describe reads it.
            commands) offers=("${(@)offers/$tab/:}"); _describe command offers ;;
            options) offers=("${(@)offers/$tab/:}"); _describe -o option offers ;;
            values) compadd -- $offers ;;
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

    /// The file `PROGRAM.fish` in a directory of `$fish_complete_path`.
    private static func fish(_ program: String, _ function: String, _ query: String) -> String {
        """
        # Completions of \(program) for fish, made by `\(program) completions fish`.

        function \(function)
            set -l words (commandline -opc)
            set -e words[1]
            set -l word (commandline -ct)
            set -l answer (\(query) $words "$word" 2>/dev/null)
            set -l prefix "$answer[2]"
            set -l value (string sub -s (math (string length -- "$prefix") + 1) -- "$word")
            switch "$answer[1]"
                case files
                    __fish_complete_path "$value" | string replace -r -- '^' "$prefix"
                case directories
                    __fish_complete_directories "$value" | string replace -r -- '^' "$prefix"
                case '*'
                    test (count $answer) -gt 2; or return
                    set -e answer[1..2]
                    for offer in $answer
                        printf '%s\\n' "$prefix$offer"
                    end
            end
        end

        complete -c \(program) -f -a '(\(function))'

        """
    }
}
