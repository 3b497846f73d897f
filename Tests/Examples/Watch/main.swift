import Foundation
import Reveille

// Watches a feed, and prints matches, warnings and status: watch.c and watch.py in Swift.
//
//   example-watch FEED KEY SERVICE DIRECTORY NAME [later] < SECRET
//
// State is kept in DIRECTORY. Standard input, unless it is empty, is added as a secret called NAME.
// SIGUSR1 stands for a platform's push, SIGTERM ends. With "later" no match is acknowledged.

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let words = CommandLine.arguments
guard words.count > 5 else {
    FileHandle.standardError.write(
        Data("usage: example-watch FEED KEY SERVICE DIRECTORY NAME [later]\n".utf8))
    exit(2)
}
let isLater = words.count > 6 && words[6] == "later"
let configuration = ClientConfiguration(
    feed: words[1], feedKey: words[2], service: words[3], channel: .stream,
    stateDirectory: words[4], cacheDirectory: words[4] + "/cache")
let secrets = SecretDirectory(stateDirectory: configuration.stateDirectory)
let secret = Array(FileHandle.standardInput.readDataToEndOfFile())
if !secret.isEmpty { try secrets.add(secret, named: words[5]) }

let client = try WakeClient(configuration, secrets: secrets)
let running = Task { try await client.run() }
let signals = [(SIGTERM, { running.cancel() }), (SIGUSR1, { client.wake(.push) })].map {
    number, action in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler(handler: action)
    source.resume()
    return source
}

/// Held without an acknowledgement: they come again when the program is started again.
var left: [MatchDelivery] = []
for await event in client.events {
    switch event {
    case .match(let delivery):
        let match = delivery.match
        let text = "\(match.secretID) \(match.id.text) \(match.note ?? "")"
        if isLater {
            say("left for later: \(text)")
            left.append(delivery)
        } else {
            say("this concerns you: \(text)")
            await delivery.acknowledge()
        }
    case .warning(let warning): say("warning: \(warning.code)")
    case .status(let status):
        say(
            "status: \(status.stream == .connected ? "connected" : "not connected"), "
                + "\(status.sequence) batches checked, "
                + "\(status.matchesToDeliver) matches waiting")
    }
}
do {
    try await running.value
    if !running.isCancelled { say("ended: no error") }
} catch {
    say("ended: \(error.localizedDescription)")
    exit(1)
}
