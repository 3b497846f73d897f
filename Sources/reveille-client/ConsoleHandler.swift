import Synchronization
import WakeClient
import WakeCommand
import WakeFeed
import WakeModel

/// Tells matches on standard output and warnings on standard error, or hands them to programs.
final class ConsoleHandler: MatchHandler {
    /// The program that was to tell did not.
    struct NotTold: Error {}

    private let onMatch: [String]
    private let onWarning: [String]
    private let quiet: Bool
    private let told = Mutex<[Match]>([])

    /// - Parameters:
    ///   - onMatch: a command line, split at spaces; empty tells on standard output.
    ///   - quiet: collects and says nothing.
    init(onMatch: String? = nil, onWarning: String? = nil, quiet: Bool = false) {
        self.onMatch = Self.words(onMatch)
        self.onWarning = Self.words(onWarning)
        self.quiet = quiet
    }

    private static func words(_ line: String?) -> [String] {
        (line ?? "").split(separator: " ").map(String.init)
    }

    /// What was told in this process.
    var matches: [Match] { told.withLock { $0 } }

    func handle(_ match: Match) async throws {
        if !onMatch.isEmpty {
            let variables = [
                "REVEILLE_MATCH_ID=\(match.id.text)", "REVEILLE_SECRET_ID=\(match.secretID)",
            ]
            let child = ChildProgram(onMatch, adding: variables, input: match.note)
            // Not cut short by SIGTERM: a person half told is told again.
            let running = Task { await child.run(for: .seconds(30)) }
            guard await running.value else { throw NotTold() }
        } else if !quiet {
            Console().out(bytes: line(match))
        }
        told.withLock { $0.append(match) }
    }

    func handle(_ warning: Warning) async {
        if !onWarning.isEmpty {
            let child = ChildProgram(
                onWarning, adding: ["REVEILLE_WARNING=\(warning.code)"],
                input: Array("\(Report.warning(warning))\n".utf8))
            _ = await child.run(for: .seconds(30))
        }
        Console().error("reveille-client: warning: \(Report.warning(warning))")
    }

    /// `match ID SECRET NOTE`, the note as JSON text so that it stays on its line.
    private func line(_ match: Match) -> [UInt8] {
        var text = Array("match \(match.id.text) \(match.secretID) ".utf8)
        text += Self.json(match.note)
        text.append(UInt8(ascii: "\n"))
        return text
    }

    /// A JSON string: the note's text, or its base64url after `base64url:` when it is no UTF-8.
    static func json(_ note: [UInt8]) -> [UInt8] {
        let isText = (try? UTF8Span(validating: note.span)) != nil
        let content = isText ? note : Array("base64url:".utf8) + Base64URL.encode(note.span)
        var text = JSONText()
        text.member("", string: content.span)
        // Without the empty name and its colon.
        return Array(text.bytes.dropFirst(3))
    }
}
