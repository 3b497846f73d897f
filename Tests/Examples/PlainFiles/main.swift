import Foundation
import Reveille

// example-recalls ADDRESS CUPBOARD STATE [--once]
//
// Runs until it is stopped, and checks when SIGUSR1 comes: that stands for a platform's push. With
// `--once` it runs one cycle and ends.

/// Prints matches and warnings to the terminal.
struct Terminal: MatchHandler {
    func didFind(_ match: Match) { say("recalled: \(match.secretID) \(match.id.text)") }
    func didWarn(_ warning: Warning) { say("warning: \(warning)") }
}

func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

var arguments = CommandLine.arguments.dropFirst()
let runsOnce = arguments.last == "--once"
if runsOnce { arguments.removeLast() }
guard arguments.count == 3 else {
    FileHandle.standardError.write(
        Data("usage: example-recalls ADDRESS CUPBOARD STATE [--once]\n".utf8))
    exit(2)
}
let (address, cupboard, state) = (arguments[1], arguments[2], arguments[3])
let configuration = SourceConfiguration(stateDirectory: state, spread: .seconds(1))
let source = RecallList(
    address: address, fetch: try PrivateFetch(dailyByteBudget: 8 << 20),
    kept: URL(filePath: state + "-published"), cupboard: Cupboard(file: URL(filePath: cupboard)))
let client = try WakeClient(configuration, source: source, handler: Terminal())
if runsOnce {
    do {
        try await client.synchronize()
    } catch {
        FileHandle.standardError.write(Data("\(error.localizedDescription)\n".utf8))
        exit(1)
    }
} else {
    signal(SIGUSR1, SIG_IGN)
    let pushes = DispatchSource.makeSignalSource(signal: SIGUSR1)
    pushes.setEventHandler { client.wake(.push) }
    pushes.resume()
    say("running")
    try await client.run()
}
