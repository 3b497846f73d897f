import Foundation
import Reveille

/// The window and its buttons: lines of a terminal here, widgets in an app of GTK.
@MainActor final class Window {
    private let model: Model
    private let client: WakeClient
    private let secrets: SecretDirectory
    private let loop: MainLoop
    private var shown: [String] = []

    init(_ model: Model, _ client: WakeClient, _ secrets: SecretDirectory, _ loop: MainLoop) {
        (self.model, self.client, self.secrets, self.loop) = (model, client, secrets, loop)
        model.onChange = { [weak self] in self?.draw() }
    }

    /// Prints what has changed since it was drawn last.
    func draw() {
        let lines =
            model.notices.map { "notice \($0.id) \($0.secret): \($0.text)" }
            + model.warnings.map { "warning: \($0)" }
            + [statusLine].compactMap(\.self)
        for line in lines where !shown.contains(line) { say(line) }
        shown = lines
    }

    private var statusLine: String? {
        guard let status = model.status else { return nil }
        let stream = status.stream == .connected ? "listening" : "not listening"
        let checked = status.lastChecked == nil ? "nothing checked yet" : "checked"
        let failure = status.failure.map { ", \($0.localizedDescription)" } ?? ""
        return "status: \(stream), \(checked), batch \(status.sequence)\(failure)"
    }

    /// A button was pressed: `check`, `add NAME SECRET`, `dismiss ID` or `quit`.
    func press(_ button: String) {
        let words = button.split(separator: " ", maxSplits: 2).map(String.init)
        do {
            switch (words.first, words.count) {
            case ("check", 1): client.wake(.manual)
            case ("add", 3):
                // The running client checks the past for it by itself.
                try secrets.add(Array(words[2].utf8), named: words[1])
            case ("dismiss", 2): try model.dismiss(words[1])
            case ("quit", 1): loop.quit()
            default: say("no such button: \(button)")
            }
        } catch {
            say("failed: \(error.localizedDescription)")
        }
    }

    func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
