/// What is made of a table for other programs: completions for shells, the page for man(1).
extension CommandTable {
    package enum Shell: String, Sendable, CaseIterable {
        case bash, zsh, fish

        fileprivate static let names = allCases.map(\.rawValue)
    }

    /// A script that teaches the shell this program's words.
    package func completions(for shell: Shell) -> String {
        let plan = CompletionPlan(program: program, commands: commands)
        return switch shell {
        case .bash: plan.bash()
        case .zsh: plan.zsh()
        case .fish: plan.fish()
        }
    }

    var completionsCommand: Command {
        Command(
            "completions", "print the completions for a shell",
            operands: [
                .init("SHELL", "bash, zsh or fish", completion: .choice(Shell.names))
            ],
            examples: [
                "source <(\(program) completions bash)",
                "\(program) completions zsh > ~/.zfunc/_\(program)    # a directory of fpath",
                "\(program) completions fish > ~/.config/fish/completions/\(program).fish",
            ]
        ) { [self] invocation throws(CommandFailure) in
            guard let shell = Shell(rawValue: invocation.operands[0]) else {
                throw CommandFailure(
                    "there are completions for \(Shell.names.joined(separator: ", "))",
                    status: .usage)
            }
            Console().out(completions(for: shell), terminator: "")
            return .success
        }
    }

    var manualCommand: Command {
        Command(
            "manual", "print the manual page, as man(1) reads it",
            examples: [
                "\(program) manual | man -l -",
                "\(program) manual > ~/.local/share/man/man\(manual.section)/"
                    + "\(program).\(manual.section)",
            ]
        ) { [self] _ in
            Console().out(manualPage(), terminator: "")
            return .success
        }
    }
}
