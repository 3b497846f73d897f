import Foundation
import TestSupport
import Testing

/// A real shell that has read a program's completions and is asked what it would offer.
struct CompletingShell: Sendable, CustomTestStringConvertible {
    let name: String
    var testDescription: String { name }

    static let all = ["bash", "zsh", "fish"].map(CompletingShell.init)
    /// Others are skipped: Tests/check installs them for continuous integration.
    static var installed: [CompletingShell] {
        all.filter { InstalledPrograms.path($0.name) != nil }
    }

    /// What is offered at the end of each line, without descriptions. `<files>` and `<directories>`
    /// stand for names of files.
    /// - Parameter script: the completions; nil asks the program for them.
    func offers(
        _ program: String, _ lines: [String], script: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> [[String]] {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/_" + program
        try await completions(of: program, script).write(
            toFile: file, atomically: true, encoding: .utf8)
        let path = RunningProgram.folder.path + ":" + (Self.path ?? "/usr/bin:/bin")
        let home = ["HOME": directory.path, "PATH": path].merging(environment) { $1 }
        let driver = directory.path + "/driver"
        try Self.driver[name, default: ""].write(
            toFile: driver, atomically: true, encoding: .utf8)
        let answer = try await RunningProgram.run(
            path: "/usr/bin/env",
            home.map { "\($0)=\($1)" } + [InstalledPrograms.path(name) ?? name] + startWords
                + [driver, file, program] + lines.flatMap { arguments($0) })
        guard answer.status == 0 else { throw TestFailure("\(name): \(answer.output)") }
        // The first part is empty unless the shell had something to complain of.
        let parts = answer.output.components(separatedBy: "<line>\n")
        guard parts.count == lines.count + 1, parts[0].isEmpty else {
            throw TestFailure("\(name): \(answer.output)")
        }
        return parts.dropFirst().map { part in
            Set(part.split(separator: "\n").map(String.init)).sorted()
        }
    }

    private static var path: String? { ProcessInfo.processInfo.environment["PATH"] }

    private func completions(of program: String, _ script: String?) async throws -> String {
        if let script { return script }
        let answer = try await RunningProgram.run(program, ["completions", name])
        guard answer.status == 0 else { throw TestFailure(answer.output) }
        return answer.output
    }

    private var startWords: [String] {
        switch name {
        case "bash": ["--norc", "--noprofile"]
        case "zsh": ["-f"]
        default: ["--no-config"]
        }
    }

    /// The line, and its words as the shell would hand them to a completion function.
    private func arguments(_ line: String) -> [String] {
        var words: [String] = [""]
        var isBreak = false
        for character in line {
            if character == " " {
                if words.last != "" { words.append("") }
                isBreak = false
                continue
            }
            // bash, COMP_WORDBREAKS: runs of these are words of their own.
            let breaks = name == "bash" && "=:".contains(character)
            if breaks != isBreak, words.last != "" { words.append("") }
            words[words.count - 1].append(character)
            isBreak = breaks
        }
        return [line, "\(words.count)"] + words
    }

    private static let driver = [
        "bash": """
        set -u
        source "$1"
        program=$2
        shift 2
        compopt() { case $2 in default) echo '<files>' ;; *) echo '<directories>' ;; esac; }
        handler=$(complete -p "$program")
        handler=${handler#*-F }
        handler=${handler%% *}
        while (($#)); do
            COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=("${@:3:$2}") COMP_CWORD=$(($2 - 1))
            shift $((2 + $2))
            echo '<line>'
            "$handler" "$program" || echo "status $?"
            if ((${#COMPREPLY[@]})); then printf '%s\\n' "${COMPREPLY[@]}"; fi
        done
        exit 0
        """,
        "zsh": """
        compdef() { :; }
        _call_program() { shift; "$@"; }
        compset() { PREFIX=${PREFIX#*=}; }
        _files() { if (($#)); then echo '<directories>'; else echo '<files>'; fi; }
        compadd() {
            while [[ $1 != -- ]]; do shift; done
            shift
            for word in "$@"; do [[ $word == "$PREFIX"* ]] && print -r -- "$word"; done
            true
        }
        _describe() {
            local -a names
            for entry in "${(@P)@[-1]}"; do names+=("${entry%%:*}"); done
            compadd -- "${names[@]}"
        }
        source "$1"
        program=$2
        shift 2
        while (($#)); do
            words=("${@:3:$2}") CURRENT=$2 PREFIX=${@[$((2 + $2))]}
            shift $((2 + $2))
            echo '<line>'
            "_$program"
        done
        exit 0
        """,
        "fish": """
        source $argv[1]
        set -e argv[1..2]
        while test (count $argv) -gt 0
            echo '<line>'
            set -l line $argv[1]
            complete -C "$line" | string replace -r '\\t.*' '' | string replace -r '^--[a-z-]*=' ''
            set -e argv[1..(math 2 + $argv[2])]
        end
        exit 0
        """,
    ]
}
