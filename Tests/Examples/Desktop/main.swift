import Foundation
import Reveille

// example-desktop FEED KEY SERVICE DIRECTORY
//
// A desktop app around its main loop; a line of standard input is a button that is pressed.

let words = CommandLine.arguments
guard words.count == 5 else {
    FileHandle.standardError.write(Data("usage: example-desktop FEED KEY SERVICE DIRECTORY\n".utf8))
    exit(2)
}
let directory = words[4]
let configuration = ClientConfiguration(
    feed: words[1], feedKey: words[2], service: words[3], channel: .stream,
    stateDirectory: directory + "/state", cacheDirectory: directory + "/cache")
let secrets = SecretDirectory(stateDirectory: configuration.stateDirectory)
let client = try WakeClient(configuration, secrets: secrets)
let model = try Model(file: URL(filePath: directory + "/notices.json"))
let loop = MainLoop()
let window = Window(model, client, secrets, loop)
window.draw()

// Two tasks: one works, the other shows. Both end with the window.
let showing = Task { await model.show(client.events) }
let running = Task {
    do {
        try await client.run()
    } catch {
        window.say("failed: \(error.localizedDescription)")
        loop.quit()
    }
}
let input = Thread {
    // Not by readLine(): a thread that waits there keeps exit(3) from ending the program.
    var rest = Data()
    while case let data = FileHandle.standardInput.availableData, !data.isEmpty {
        rest += data
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            Task { @MainActor in window.press(line) }
        }
    }
    Task { @MainActor in loop.quit() }
}
input.start()
loop.run()
running.cancel()
showing.cancel()
// Their last steps may be on the main actor.
var hasEnded = false
Task {
    _ = await (running.value, showing.value)
    hasEnded = true
}
while !hasEnded { MainLoop.iterate(waiting: 0.05) }
