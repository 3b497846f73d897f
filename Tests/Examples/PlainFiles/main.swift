import Foundation
import Reveille

// example-recalls DIRECTORY CUPBOARD STATE [--once]
//
// Runs until it is stopped, and checks when SIGUSR1 comes: that stands for a platform's push. With
// `--once` it runs one cycle and ends.

/// Prints matches and warnings to the terminal.
struct Terminal: MatchHandler {
    func handle(_ match: Match) { say("recalled: \(match.secretID) \(match.id.text)") }
    func handle(_ warning: Warning) { say("warning: \(warning.code)") }
}

func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

var arguments = CommandLine.arguments.dropFirst()
let runsOnce = arguments.last == "--once"
if runsOnce { arguments.removeLast() }
guard arguments.count == 3 else {
    FileHandle.standardError.write(
        Data("usage: example-recalls DIRECTORY CUPBOARD STATE [--once]\n".utf8))
    exit(2)
}
let paths = arguments.map { URL(filePath: $0) }
let configuration = SourceConfiguration(stateDirectory: paths[2].path, spread: .seconds(1))
let source = RecallList(directory: paths[0], cupboard: Cupboard(file: paths[1]))
let client = try WakeClient(configuration, source: source, handler: Terminal())
if runsOnce {
    try await client.synchronize()
} else {
    signal(SIGUSR1, SIG_IGN)
    let pushes = DispatchSource.makeSignalSource(signal: SIGUSR1)
    pushes.setEventHandler { client.wake(.push) }
    pushes.resume()
    say("running")
    try await client.run()
}
